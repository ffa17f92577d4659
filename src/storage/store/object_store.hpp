// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/call_limits.hpp"
#include "base/core/pieces.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"
#include "storage/store/address.hpp"
#include "storage/store/object_name.hpp"

// The interface of a store. A store holds a run's objects, each under a name (docs/store.md).
namespace curtail::store {

/// All bytes of an object.
using Content = std::vector<std::byte>;

/// What ObjectStore::create did.
enum class CreateOutcome {
    created,  ///< this call created the object
    exists,   ///< an object of this name existed already, or another caller created it first
    unknown   ///< no reply: the object may exist already, appear later or never appear
};

/// What a store knows about an object without reading its content.
struct ObjectInfo {
    Bytes size;
    Time modified;  ///< time of the last change, by the store's clock; maybe rounded down to 1 s
    friend bool operator==(ObjectInfo const&, ObjectInfo const&) = default;
};

/// One object in a listing.
struct ListedObject {
    std::string
        name;  ///< as stored; need not be an ObjectName, because anybody may write to a store
    ObjectInfo info;
    friend bool operator==(ListedObject const&, ListedObject const&) = default;
};

/// What a write that did not end has left in a store: a temporary file, or an upload in parts. It
/// is not an object. A write that is still under way looks the same.
struct Leftover {
    std::string name;    ///< of the file, or of the object that the upload would have made
    std::string upload;  ///< id of the upload; empty for a file
    Time modified;       ///< by the store's own clock; for an upload, the time of its beginning
    friend bool operator==(Leftover const&, Leftover const&) = default;
};

/// A store: a set of objects, each with a name. All functions are thread-safe.
///
/// The functions fail with
/// - `permission` if access is denied, if the store is read-only, or if the path of the object in
///   the store contains a symbolic link;
/// - `io` if the store is full or a transfer failed;
/// - `temporary` if the store does not answer (create() fails only if it certainly created nothing;
///   otherwise it returns `unknown`);
/// - `unavailable` if the store's folder no longer exists (but remove() then succeeds), or if its
///   file system has no hard links;
/// - `data` if read(), get() or stat() finds that the object is not a regular file (list() skips
///   such a file).
///
/// A reader sees a whole object or none, even after a failed create or put.
///
/// An operation whose CallLimits are over fails with `temporary`, or create() returns `unknown`. A
/// shared folder checks this only between two calls of the system. If the file server does not
/// answer, the operation therefore does not end.
class ObjectStore {
  public:
    /// Receives one piece of an object. `whole` is the size of the whole object.
    using Sink = std::function<void(std::span<std::byte const> piece, Bytes whole)>;

    virtual ~ObjectStore() = default;
    /// Creates the object `name` with the content `bytes` unless an object of that name exists. If
    /// several callers create the same name, at most one gets `created`. The object survives a
    /// crash of the machine once create has returned `created`.
    [[nodiscard]] virtual Result<CreateOutcome> create(ObjectName const& name,
                                                       std::span<std::byte const> bytes,
                                                       CallLimits const& call = {}) = 0;
    /// Writes the object `name` with the content `bytes`, replacing an existing object of that
    /// name. Use put only for names that a single process writes. The object survives a crash of
    /// the machine once put has succeeded.
    [[nodiscard]] virtual Result<void> put(ObjectName const& name, Pieces const& bytes,
                                           CallLimits const& call = {}) = 0;
    /// Reads an object and passes its content to `sink` in consecutive pieces. Returns false if
    /// the object does not exist. Fails with `data` if the object has more than `limit` bytes. In
    /// both cases, does not call `sink`.
    [[nodiscard]] virtual Result<bool> read(ObjectName const& name, Bytes limit, Sink const& sink,
                                            CallLimits const& call = {}) = 0;
    /// Returns an object's size and time. Returns an empty optional if the object does not exist.
    [[nodiscard]] virtual Result<std::optional<ObjectInfo>> stat(ObjectName const& name,
                                                                 CallLimits const& call = {}) = 0;
    /// Removes an object, or an empty folder of this name. Succeeds also if there is none.
    [[nodiscard]] virtual Result<void> remove(ObjectName const& name,
                                              CallLimits const& call = {}) = 0;

    /// Receives one object of a listing. Returns false to end the listing.
    using Visit = std::function<bool(ListedObject const&)>;
    /// Lists the objects of a folder and of its subfolders whose names are greater than `after`, in
    /// the order of the bytes of their names. A folder that does not exist has no objects.
    ///
    /// A listing is a hint: it may lack an object that was just created, and may have one that was
    /// just removed. A site of the rounds stops because of one, and goes on because of none.
    [[nodiscard]] virtual Result<void> list(ObjectFolder const& folder, std::string const& after,
                                            Visit const& visit, CallLimits const& call = {}) = 0;
    /// Lists the leftovers in a folder and its subfolders, in any order. Also a hint.
    [[nodiscard]] virtual Result<std::vector<Leftover>> leftovers(ObjectFolder const& folder,
                                                                  CallLimits const& call = {}) = 0;
    /// Removes a leftover. Succeeds also if it does not exist. If its write is still under way, the
    /// write fails.
    [[nodiscard]] virtual Result<void> remove_leftover(Leftover const& leftover,
                                                       CallLimits const& call = {}) = 0;
    /// Returns whether the store keeps earlier versions of objects, as a bucket with versioning
    /// does. In such a bucket, some servers let every create succeed.
    [[nodiscard]] virtual Result<bool> keeps_versions(CallLimits const& call = {}) = 0;

    /// Lists a whole folder.
    [[nodiscard]] Result<std::vector<ListedObject>> list_all(ObjectFolder const& folder,
                                                             CallLimits const& call = {});
    /// Reads a whole object. Returns an empty optional if the object does not exist. Fails with
    /// `data` if the object has more than `limit` bytes.
    [[nodiscard]] Result<std::optional<Content>> get(ObjectName const& name, Bytes limit,
                                                     CallLimits const& call = {});
};

/// What open_store does if the store's folder does not exist.
enum class IfMissing {
    refuse,  ///< fail: a shared folder that is not mounted must not look like an empty store
    make     ///< create the folder; only for the program that starts a run
};

/// Opens the store at `address`. Fails with `config` if the address is invalid. Fails with
/// `unavailable` if the store's folder does not exist and `if_missing` is IfMissing::refuse. Sends
/// no request to an S3 server.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_store(
    Address const& address, IfMissing if_missing = IfMissing::refuse);

[[nodiscard]] inline std::span<std::byte const> bytes_of(std::string_view text)
{
    return std::as_bytes(std::span(text));
}
[[nodiscard]] inline std::string_view text_of(std::span<std::byte const> bytes)
{
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace curtail::store
