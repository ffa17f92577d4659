// SPDX-License-Identifier: Apache-2.0
#include "simulator/merges.hpp"

namespace curtail::protocol::simulator {
namespace {

Corrupt missing(Op op, PartRef const& part) { return {op, part.name, "missing"}; }

// The payload of a merge that may be `part`, or null.
Payload const* made_by(std::optional<MergedPayloads> const& merged, PartRef const& part)
{
    if (!merged) return nullptr;
    return part.sha256 == merged->model.sha256 ? &merged->model : &merged->momentum;
}

}  // namespace

void Merges::execute(P const& p, Merge const& o)
{
    require(!p->stop_delivered, Invariant::leaving, "a leaving site starts a merge");
    p->check_merge_base(o);
    later(Millis{pick(50, 800)}, [this, p, o] {
        ++steps_;
        if (is_unanswered(p) || refuses_writes(p))
            return reply(p, Unavailable{o.op, "no answer", failure(p)});
        auto const merged = merge(p->site_index, o);
        if (chance(chaos_.stalled)) reply_late(p, Unavailable{o.op, "time-out"});
        else reply(p, merged);
    });
}

Input Merges::merge(std::size_t site, Merge const& o)
{
    auto const& base = o.model.weights;
    auto const* theta = store_.payload(base);
    if (theta == nullptr) return missing(o.op, base);
    Merged merged{o.op, {}, {}, {}};
    std::vector<Term> terms;
    auto result = sum(o, *theta, terms, merged.refused);
    if (!merged.refused.empty()) return merged;
    if (lacks_momentum(o)) return missing(o.op, o.outer->momentum);
    auto const made = payloads(o, result, terms);
    merged.weights = store(site, o.weights, made.model);
    if (o.outer_step) merged.momentum = store(site, o.momentum.value(), made.momentum);
    return merged;
}

Tickets Merges::sum(Merge const& o, Tickets result, std::vector<Term>& terms,
                    std::vector<Merged::UnusableContribution>& refused)
{
    for (auto const& c : o.include) {
        auto const* d = store_.payload(c.delta.payload);
        if (chance(chaos_.stale_404)) {
            refused.push_back({c.member, c.seq, Refusal::digest, true});
        } else if (d == nullptr || chance(chaos_.refused)) {
            refused.push_back({c.member, c.seq, Refusal::digest});
        } else {
            result = result - *d;
            terms.push_back({values_of(*d), c.scale});
        }
    }
    return result;
}

bool Merges::lacks_momentum(Merge const& o) const
{
    return o.outer_step && o.outer && store_.payload(o.outer->momentum) == nullptr;
}

PartRef Merges::store(std::size_t site, PayloadPlace const& place, Payload const& payload)
{
    shared_.copies.keep(site, place.name, payload);
    return store_.put(place.part, place.name, payload);
}

MergedPayloads Merges::payloads(Merge const& o, Tickets const& result,
                                std::vector<Term> const& terms) const
{
    auto const momentum = o.outer ? store_.values(o.outer->momentum) : Values{};
    auto const values =
        merge_values(store_.values(o.model.weights), momentum, terms, {o.outer_step, o.eta, o.mu});
    return {Payload(result, values.model), Payload(result, values.momentum)};
}

std::optional<MergedPayloads> Merges::recompute(Merge const& o) const
{
    auto const* theta = store_.payload(o.model.weights);
    if (theta == nullptr) return std::nullopt;
    auto result = *theta;
    std::vector<Term> terms;
    for (auto const& c : o.include) {
        auto const* d = store_.payload(c.delta.payload);
        if (d == nullptr) return std::nullopt;
        result = result - *d;
        terms.push_back({values_of(*d), c.scale});
    }
    return payloads(o, result, terms);
}

void Merges::execute(P const& p, Restore const& o)
{
    require(!p->stop_delivered, Invariant::leaving, "a leaving site repairs a payload");
    later(Millis{pick(20, 800)}, [this, p, o] {
        ++steps_;
        if (is_unanswered(p) || refuses_writes(p))
            return reply(p, Unavailable{o.op, "no answer", failure(p)});
        auto const restored = restore(p, o);
        if (chance(chaos_.stalled)) reply_late(p, Unavailable{o.op, "time-out"});
        else reply(p, restored);
    });
}

// A trainer keeps its own deltas; its machine keeps models.
Payload const* Merges::copy_of(P const& p, PartRef const& part) const
{
    if (part.part != delta_part) return shared_.copies.find(p->site_index, part.sha256);
    auto const member = p->machine->status().member;
    bool const own = member && part.name.find("/" + member->value + "/") != part.name.npos;
    return own ? store_.original(part) : nullptr;
}

Restored Merges::restore(P const& p, Restore const& o)
{
    auto const computed = o.recompute ? recompute(*o.recompute) : std::nullopt;
    auto const* way = o.recompute ? "repaired by a recipe" : "repaired by a copy";
    Restored restored{o.op, {}, {}};
    for (auto const& part : o.parts) {
        if (store_.payload(part) != nullptr && !chance(chaos_.stale_404)) continue;
        auto const* content = o.recompute ? made_by(computed, part) : copy_of(p, part);
        bool const right = content != nullptr && content->sha256 == part.sha256;
        if (right) store_.put(part.part, part.name, *content);
        if (right) ++shared_.history.notes[way];
        (right ? restored.stored : restored.damaged).push_back(part.name);
    }
    return restored;
}

void Merges::execute(P const& p, Keep const& o)
{
    // An older process of the site that still lives has lost the folder to a newer one.
    if (processes_.is_newest(p)) shared_.copies.keep_only(p->site_index, o.parts);
}

}  // namespace curtail::protocol::simulator
