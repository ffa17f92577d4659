// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>

#include "storage/store/object_store.hpp"
#include "storage/store/posix_root.hpp"

namespace curtail::store {

/// A store in a shared folder, with one file per object. docs/store.md lists the requirements on
/// the file system.
///
/// Files and folders take their permission bits from the root (PosixRoot::mode()). So a group can
/// share a root of mode 2770. A killed process may leave temporary files behind (temporary_name);
/// they have no effect.
class PosixStore final : public ObjectStore {
  public:
    /// Opens the store in the folder `root`. `lookup` says how the store finds the file of an
    /// object. If the kernel lacks the calls for Lookup::kernel, uses Lookup::stepwise. Fails with
    /// `unavailable` if `root` does not exist and `if_missing` is IfMissing::refuse.
    [[nodiscard]] static Result<std::unique_ptr<PosixStore>> open(std::filesystem::path const& root,
                                                                  IfMissing if_missing,
                                                                  Lookup lookup = Lookup::kernel);

    [[nodiscard]] Result<CreateOutcome> create(ObjectName const& name,
                                               std::span<std::byte const> bytes,
                                               CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> put(ObjectName const& name, Pieces const& bytes,
                                   CallLimits const& call = {}) override;
    [[nodiscard]] Result<bool> read(ObjectName const& name, Bytes limit, Sink const& sink,
                                    CallLimits const& call = {}) override;
    [[nodiscard]] Result<std::optional<ObjectInfo>> stat(ObjectName const& name,
                                                         CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> remove(ObjectName const& name, CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> list(ObjectFolder const& folder, std::string const& after,
                                    Visit const& visit, CallLimits const& call = {}) override;
    [[nodiscard]] Result<std::vector<Leftover>> leftovers(ObjectFolder const& folder,
                                                          CallLimits const& call = {}) override;
    [[nodiscard]] Result<void> remove_leftover(Leftover const& leftover,
                                               CallLimits const& call = {}) override;
    [[nodiscard]] Result<bool> keeps_versions(CallLimits const& call = {}) override;
    [[nodiscard]] Lookup lookup() const { return root_.lookup(); }

  private:
    struct Temporary;
    struct OpenFile;
    explicit PosixStore(PosixRoot root) : root_(std::move(root)) {}

    /// Writes `bytes` to a temporary file in the object's folder and syncs it to disk.
    [[nodiscard]] Result<Temporary> write_temporary(ObjectName const& name, Pieces const& bytes,
                                                    CallLimits const& call) const;
    /// Creates an empty temporary file in the object's folder and opens it for writing.
    [[nodiscard]] Result<std::pair<Temporary, Fd>> new_temporary(ObjectName const& name) const;
    /// Opens an object. Returns an empty optional if the object does not exist. Fails with `data`
    /// if the object is not a regular file. `act` is the verb for error messages, for example
    /// "read".
    [[nodiscard]] Result<std::optional<OpenFile>> open_object(char const* act,
                                                              ObjectName const& name,
                                                              int flags) const;
    /// Returns the error for the errno value `error`.
    [[nodiscard]] tl::unexpected<Error> failure(char const* act, ObjectName const& name,
                                                int error) const;
    /// Returns `cannot read x in store y`.
    [[nodiscard]] std::string what(char const* act, ObjectName const& name) const;

    PosixRoot root_;
};

}  // namespace curtail::store
