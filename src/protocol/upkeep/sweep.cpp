// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/sweep.hpp"

#include <array>
#include <stdexcept>

#include "protocol/upkeep/payload_name.hpp"

namespace curtail::upkeep {
namespace {

struct Words {
    Reason reason;
    bool deletes;
    std::string_view word;
    std::string_view text;
};

constexpr std::array<Words, 13> words{{
    {Reason::expired_model, true, "expired-model",
     "the run no longer keeps the models of its round"},
    {Reason::unused_model, true, "unused-model", "its round has another model"},
    {Reason::expired_delta, true, "expired-delta", "its contribution was decided long ago"},
    {Reason::delta_of_leaver, true, "delta-of-leaver", "its member left long ago"},
    {Reason::old_leftover, true, "old-leftover", "the write that made it has not ended"},
    {Reason::young, false, "young", "it is too young to be deleted"},
    {Reason::named_model, false, "named-model", "a commit that the run keeps names it"},
    {Reason::future_model, false, "future-model", "its round has not been decided"},
    {Reason::pending_delta, false, "pending-delta", "its member may still contribute it"},
    {Reason::recent_delta, false, "recent-delta", "its contribution was decided recently"},
    {Reason::recent_leaver, false, "recent-leaver", "its member left recently"},
    {Reason::unknown_member, false, "unknown-member", "no commit has admitted its member"},
    {Reason::not_a_payload, false, "not-a-payload", "only payloads are deleted"},
}};

Words const& words_of(Reason reason)
{
    for (auto const& w : words)
        if (w.reason == reason) return w;
    throw std::logic_error("a reason without words");
}

Reason decide_model(Kept const& kept, std::string const& name, ModelPayload const& model)
{
    if (kept.names(name)) return Reason::named_model;
    if (model.round > kept.round()) return Reason::future_model;
    return kept.has_named(name) ? Reason::expired_model : Reason::unused_model;
}

Reason decide_delta(Kept const& kept, DeltaPayload const& delta)
{
    auto const* const member = kept.member(delta.member);
    if (member != nullptr && delta.seq > member->seq) return Reason::pending_delta;
    if (auto const round = kept.decided(delta.member, delta.seq))
        return kept.keeps(*round) ? Reason::recent_delta : Reason::expired_delta;
    if (auto const round = kept.left(delta.member))
        return kept.keeps(*round) ? Reason::recent_leaver : Reason::delta_of_leaver;
    return Reason::unknown_member;
}

bool is_old(Stored const& object, Time now, SweepRules const& rules)
{
    // Of a time that anybody may have set, no difference is computed: it could overflow.
    return object.modified <= now - rules.sweep_after;
}

}  // namespace

std::string_view to_text(Reason reason) { return words_of(reason).text; }
std::string_view to_word(Reason reason) { return words_of(reason).word; }
bool is_deletion(Reason reason) { return words_of(reason).deletes; }

Reason decide(Kept const& kept, Stored const& object, Time now, SweepRules const& rules)
{
    auto const payload = parse_payload_name(object.name);
    if (!payload) return Reason::not_a_payload;
    auto const* const model = std::get_if<ModelPayload>(&*payload);
    auto const reason = model != nullptr ? decide_model(kept, object.name, *model)
                                         : decide_delta(kept, std::get<DeltaPayload>(*payload));
    return is_deletion(reason) && !is_old(object, now, rules) ? Reason::young : reason;
}

Reason decide_leftover(Stored const& leftover, Time now, SweepRules const& rules)
{
    return is_old(leftover, now, rules) ? Reason::old_leftover : Reason::young;
}

}  // namespace curtail::upkeep
