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

/// Where a run lives: immutable objects under names. docs/store.md.
namespace curtail::store {

using Content = std::vector<std::byte>;

enum class CreateOutcome {
    created,  ///< this call made it
    exists,   ///< it was there, or somebody else was faster
    unknown   ///< reply lost: it is there, will be, or never comes; read the name back
};

struct ObjectInfo {
    Bytes size;
    Time modified;  ///< by the store's own clock
    friend bool operator==(ObjectInfo const&, ObjectInfo const&) = default;
};

/// A flat space of objects. Every member may be called from any thread.
///
/// Failures: `permission` (not allowed, read-only, a symbolic link), `io` (full, or reading and
/// writing broke off), `temporary` (the store does not answer just now), `unavailable` (its root is
/// not there), `data` (longer than the limit, not a plain file). After a failure the object is what
/// it was before; half of one is never visible to anybody.
class ObjectStore {
  public:
    /// Takes one piece of an object that has `whole` bytes in all.
    using Sink = std::function<void(std::span<std::byte const> piece, Bytes whole)>;

    virtual ~ObjectStore() = default;
    /// Writes `bytes` under `name` unless the name exists. Linearizable: of any number of callers
    /// at most one gets `created`. Durable when it returns `created`.
    [[nodiscard]] virtual Result<CreateOutcome> create(ObjectName const& name,
                                                       std::span<std::byte const> bytes) = 0;
    /// Writes `bytes` under `name` whatever was there; for names that only one writer uses. Durable
    /// when it returns.
    [[nodiscard]] virtual Result<void> put(ObjectName const& name,
                                           std::span<std::byte const> bytes) = 0;
    /// Hands the object to `sink` in consecutive pieces. false: there is no such object now, and
    /// `sink` was not called. An object of more than `limit` bytes is a failure, before the first
    /// piece.
    [[nodiscard]] virtual Result<bool> read(ObjectName const& name, Bytes limit,
                                            Sink const& sink) = 0;
    [[nodiscard]] virtual Result<std::optional<ObjectInfo>> stat(
        ObjectName const& name) = 0;  ///< nothing: no such object now
    [[nodiscard]] virtual Result<void> remove(
        ObjectName const& name) = 0;  ///< success too if it was not there

    /// The whole object; nothing: there is no such object now.
    [[nodiscard]] Result<std::optional<Content>> get(ObjectName const& name, Bytes limit);
};

/// Where objects of a run begin if `Missing::refuse` finds no folder there.
enum class Missing {
    refuse,  ///< a failure: a shared folder that is not mounted must not look like an empty store
    make     ///< make the folder; for the one who begins a run
};

/// The store that an address names: `file:///absolute/folder`. `config` if the address is wrong,
/// `unavailable` if nothing is there.
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
