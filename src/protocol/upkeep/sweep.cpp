// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/sweep.hpp"

#include <array>
#include <stdexcept>

#include "protocol/upkeep/payload_name.hpp"

namespace curtail::upkeep {
namespace {

struct Words {
    SweepReason reason;
    bool deletes;
    std::string_view word;
    std::string_view text;
};

constexpr std::array<Words, 13> words{{
    {SweepReason::expired_model, true, "expired-model",
     "the run no longer keeps the models of its round"},
    {SweepReason::unused_model, true, "unused-model", "its round has another model"},
    {SweepReason::expired_delta, true, "expired-delta", "its contribution was decided long ago"},
    {SweepReason::delta_of_leaver, true, "delta-of-leaver", "its member left long ago"},
    {SweepReason::old_leftover, true, "old-leftover", "the write that made it has not ended"},
    {SweepReason::young, false, "young", "it is too young to be deleted"},
    {SweepReason::named_model, false, "named-model", "a commit that the run keeps names it"},
    {SweepReason::future_model, false, "future-model", "its round has not been decided"},
    {SweepReason::pending_delta, false, "pending-delta", "its member may still contribute it"},
    {SweepReason::recent_delta, false, "recent-delta", "its contribution was decided recently"},
    {SweepReason::recent_leaver, false, "recent-leaver", "its member left recently"},
    {SweepReason::unknown_member, false, "unknown-member", "no commit has admitted its member"},
    {SweepReason::not_a_payload, false, "not-a-payload", "only payloads are deleted"},
}};

Words const& words_of(SweepReason reason)
{
    for (auto const& w : words)
        if (w.reason == reason) return w;
    throw std::logic_error("a reason without words");
}

SweepReason decide_model(NeededPayloads const& needed, std::string const& name,
                         ModelPayload const& model)
{
    if (needed.names(name)) return SweepReason::named_model;
    if (model.round > needed.round()) return SweepReason::future_model;
    return needed.has_named(name) ? SweepReason::expired_model : SweepReason::unused_model;
}

SweepReason decide_delta(NeededPayloads const& needed, DeltaPayload const& delta)
{
    auto const* const member = needed.member(delta.member);
    if (member != nullptr && delta.seq > member->seq) return SweepReason::pending_delta;
    if (auto const round = needed.decided(delta.member, delta.seq))
        return needed.keeps(*round) ? SweepReason::recent_delta : SweepReason::expired_delta;
    if (auto const round = needed.left(delta.member))
        return needed.keeps(*round) ? SweepReason::recent_leaver : SweepReason::delta_of_leaver;
    return SweepReason::unknown_member;
}

bool is_old(StoredObject const& object, Time now, SweepRules const& rules)
{
    // Anybody may have set this time, so a difference from it could overflow.
    return object.modified <= now - rules.sweep_after;
}

}  // namespace

std::string_view to_text(SweepReason reason) { return words_of(reason).text; }
std::string_view to_word(SweepReason reason) { return words_of(reason).word; }
bool is_deletion(SweepReason reason) { return words_of(reason).deletes; }

SweepReason decide(NeededPayloads const& needed, StoredObject const& object, Time now,
                   SweepRules const& rules)
{
    auto const payload = parse_payload_name(object.name);
    if (!payload) return SweepReason::not_a_payload;
    auto const* const model = std::get_if<ModelPayload>(&*payload);
    auto const reason = model != nullptr ? decide_model(needed, object.name, *model)
                                         : decide_delta(needed, std::get<DeltaPayload>(*payload));
    return is_deletion(reason) && !is_old(object, now, rules) ? SweepReason::young : reason;
}

SweepReason decide_leftover(StoredObject const& leftover, Time now, SweepRules const& rules)
{
    return is_old(leftover, now, rules) ? SweepReason::old_leftover : SweepReason::young;
}

}  // namespace curtail::upkeep
