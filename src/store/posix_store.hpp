// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>

#include "store/object_store.hpp"
#include "store/posix_root.hpp"

namespace curtail::store {

/// A store in a shared folder, one file per object. docs/store.md lists what it needs of the file
/// system.
///
/// Files and folders get the permission bits of the root, so that a group can share a root of mode
/// 2770. A process that is killed may leave temporaries behind (temporary_name); they are harmless.
class PosixStore final : public ObjectStore {
  public:
    /// The store with root `root`. Uses `lookup` if the kernel supports it, otherwise
    /// Lookup::stepwise.
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
    [[nodiscard]] Lookup lookup() const { return root_.lookup(); }

  private:
    struct Temporary;
    struct OpenFile;
    explicit PosixStore(PosixRoot root) : root_(std::move(root)) {}

    /// A complete and durable file next to the object, under a temporary name.
    [[nodiscard]] Result<Temporary> write_temporary(ObjectName const& name,
                                                    std::span<std::byte const> bytes) const;
    /// An empty file in the object's folder, open for writing.
    [[nodiscard]] Result<std::pair<Temporary, Fd>> new_temporary(ObjectName const& name) const;
    /// Empty: the object does not exist. An error unless it is a regular file.
    [[nodiscard]] Result<std::optional<OpenFile>> open_object(char const* act,
                                                              ObjectName const& name,
                                                              int flags) const;
    [[nodiscard]] tl::unexpected<Error> failure(char const* act, ObjectName const& name,
                                                int error) const;
    [[nodiscard]] tl::unexpected<Error> bad_data(char const* act, ObjectName const& name,
                                                 std::string why) const;

    PosixRoot root_;
};

}  // namespace curtail::store
