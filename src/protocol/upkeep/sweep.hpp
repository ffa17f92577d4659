// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/core/time.hpp"
#include "base/core/units.hpp"
#include "protocol/upkeep/needed_payloads.hpp"

// Which objects of a run a sweep deletes (docs/curtail-store.md). Pure: a program or a member of
// the run lists the store and carries the decisions out.
namespace curtail::upkeep {

/// An object, or a leftover of a write, as a listing of the store shows it.
struct StoredObject {
    std::string name;  ///< relative to `runs/<run>/`; may be any text
    Bytes size;
    Time modified;  ///< by the store's clock
    friend bool operator==(StoredObject const&, StoredObject const&) = default;
};

/// The reason for which a sweep deletes or keeps an object.
enum class SweepReason {
    // Deletes it:
    expired_model,    ///< only commits of rounds that the run no longer keeps name it
    unused_model,     ///< its round has been decided, and no commit names it
    expired_delta,    ///< its contribution was decided at least `keep_models` rounds ago
    delta_of_leaver,  ///< its member left at least `keep_models` rounds ago
    old_leftover,     ///< a write that has not ended for `sweep_after`
    // Keeps it:
    young,           ///< it would be deleted, but is younger than `sweep_after`
    named_model,     ///< a kept commit names it
    future_model,    ///< its round has not been decided
    pending_delta,   ///< its member may still contribute it
    recent_delta,    ///< its contribution was decided less than `keep_models` rounds ago
    recent_leaver,   ///< its member left less than `keep_models` rounds ago
    unknown_member,  ///< its member was never admitted, as far as the chain says
    not_a_payload    ///< a record, or a name that Curtail does not give to payloads
};
/// Returns the reason as a phrase for people, such as "its round has not been decided".
[[nodiscard]] std::string_view to_text(SweepReason reason);
/// Returns the reason as a word for scripts, such as `future-model`.
[[nodiscard]] std::string_view to_word(SweepReason reason);
/// Returns whether a sweep deletes an object for this reason.
[[nodiscard]] bool is_deletion(SweepReason reason);

struct SweepRules {
    Millis sweep_after{24 * 3'600'000};  ///< what is younger is kept
};

/// Decides about one object. `needed` must have all commits up to one that was the newest after the
/// listing began. `now` is the time by the store's clock.
///
/// A decision to delete stays right whatever commits follow: later commits name only new payloads
/// and those that the newest commit names. So the caller may take any time to carry it out.
[[nodiscard]] SweepReason decide(NeededPayloads const& needed, StoredObject const& object, Time now,
                                 SweepRules const& rules = {});
/// Decides about a leftover: a temporary file, or an upload that has not ended.
[[nodiscard]] SweepReason decide_leftover(StoredObject const& leftover, Time now,
                                          SweepRules const& rules = {});

}  // namespace curtail::upkeep
