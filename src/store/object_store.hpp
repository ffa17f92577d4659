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

#include "core/result.hpp"
#include "core/time.hpp"
#include "store/object_name.hpp"

/// Where runs are stored: immutable objects under names (docs/store.md).
namespace curtail::store {

using Content = std::vector<std::byte>;

enum class CreateOutcome {
    created,  ///< this call created the object
    exists,   ///< the name was taken before, or by a faster caller
    unknown   ///< the reply was lost: the object exists, will exist or never will; read it back
};

struct ObjectInfo {
    Bytes size;
    Time modified;  ///< by the store's own clock
    friend bool operator==(ObjectInfo const&, ObjectInfo const&) = default;
};

/// A flat namespace of objects. All members are thread-safe.
///
/// Error codes: `permission` (access denied, read-only, a symbolic link), `io` (full, or a transfer
/// failed), `temporary` (the store does not answer), `unavailable` (its root does not exist),
/// `data` (longer than the limit, not a regular file). After an error the object is unchanged. No
/// reader ever sees part of an object.
class ObjectStore {
  public:
    /// Receives one piece of an object of `whole` bytes.
    using Sink = std::function<void(std::span<std::byte const> piece, Bytes whole)>;

    virtual ~ObjectStore() = default;
    /// Writes `bytes` under `name` unless the name exists. Linearizable: at most one of any number
    /// of callers gets `created`. Durable once it returns `created`.
    [[nodiscard]] virtual Result<CreateOutcome> create(ObjectName const& name,
                                                       std::span<std::byte const> bytes) = 0;
    /// Writes `bytes` under `name` and replaces what is stored there. Use it only for names with a
    /// single writer. Durable once it returns.
    [[nodiscard]] virtual Result<void> put(ObjectName const& name,
                                           std::span<std::byte const> bytes) = 0;
    /// Passes the object to `sink` in consecutive pieces. False: the object does not exist now, and
    /// `sink` was not called. An object of more than `limit` bytes is an error before the first
    /// piece.
    [[nodiscard]] virtual Result<bool> read(ObjectName const& name, Bytes limit,
                                            Sink const& sink) = 0;
    /// Empty: the object does not exist now.
    [[nodiscard]] virtual Result<std::optional<ObjectInfo>> stat(ObjectName const& name) = 0;
    /// Succeeds also if the object does not exist.
    [[nodiscard]] virtual Result<void> remove(ObjectName const& name) = 0;

    /// The whole object; empty: it does not exist now.
    [[nodiscard]] Result<std::optional<Content>> get(ObjectName const& name, Bytes limit);
};

/// What open_store does if the folder does not exist.
enum class Missing {
    refuse,  ///< an error: a shared folder that is not mounted must not look like an empty store
    make     ///< create the folder; only for the program that starts a run
};

/// The store at the address `file:///absolute/folder`. `config` if the address is invalid,
/// `unavailable` if the folder does not exist.
[[nodiscard]] Result<std::unique_ptr<ObjectStore>> open_store(std::string_view url,
                                                              Missing missing = Missing::refuse);

[[nodiscard]] inline std::span<std::byte const> bytes_of(std::string_view text)
{
    return std::as_bytes(std::span(text));
}
[[nodiscard]] inline std::string_view text_of(std::span<std::byte const> bytes)
{
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace curtail::store
