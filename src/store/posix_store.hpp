// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "core/files.hpp"
#include "store/object_store.hpp"

namespace curtail::store {

/// How a path below the root is opened without ever leaving the root or following a symbolic link.
enum class Lookup {
    kernel,   ///< openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), Linux 5.6
    stepwise  ///< one openat(O_NOFOLLOW) per step
};

/// A store in a shared folder: one file per object. What it needs from the file system:
/// docs/store.md.
///
/// Files and folders get the permission bits of the root, so that a root of mode 2770 is shared by
/// its group. Temporaries are called
/// `.<name>.<host>.<process>.<pid>.<counter>.tmp`, which is no object's name; those of dead
/// processes do no harm.
class PosixStore final : public ObjectStore {
  public:
    /// The store with root `root`. Lookup by the kernel where it can, unless the other way is asked
    /// for.
    [[nodiscard]] static Result<std::unique_ptr<PosixStore>> open(std::filesystem::path const& root,
                                                                  Missing missing,
                                                                  Lookup lookup = Lookup::kernel);

    [[nodiscard]] Result<CreateOutcome> create(ObjectName const& name,
                                               std::span<std::byte const> bytes) override;
    [[nodiscard]] Result<void> put(ObjectName const& name,
                                   std::span<std::byte const> bytes) override;
    [[nodiscard]] Result<bool> read(ObjectName const& name, Bytes limit, Sink const& sink) override;
    [[nodiscard]] Result<std::optional<ObjectInfo>> stat(ObjectName const& name) override;
    [[nodiscard]] Result<void> remove(ObjectName const& name) override;
    [[nodiscard]] Lookup lookup() const { return lookup_; }

  private:
    struct Temporary;
    PosixStore(std::filesystem::path root, Fd fd, mode_t mode, Lookup lookup);

    /// Removed while it was open: then nothing is "absent", the store is away. Keeps errno.
    [[nodiscard]] bool root_is_gone() const;
    /// A descriptor below the root, or -1 and errno.
    [[nodiscard]] Fd open_below(std::string_view path, int flags) const;
    [[nodiscard]] Fd open_stepwise(std::string_view path, int flags) const;
    /// The folder of an object, made if it is missing; each new level is durable before the next.
    [[nodiscard]] Result<Fd> make_folder_of(ObjectName const& name) const;
    [[nodiscard]] Result<void> make_step(int parent, std::string const& step,
                                         ObjectName const& name) const;
    void remove_empty_folders(std::string_view folder) const;
    /// A whole and durable file beside the object, under a name of its own.
    [[nodiscard]] Result<Temporary> write_temporary(ObjectName const& name,
                                                    std::span<std::byte const> bytes) const;
    [[nodiscard]] tl::unexpected<Error> failure(char const* act, ObjectName const& name,
                                                int error) const;

    std::filesystem::path root_;
    Fd fd_;
    mode_t mode_;  ///< permission bits of the root
    Lookup lookup_;
};

}  // namespace curtail::store
