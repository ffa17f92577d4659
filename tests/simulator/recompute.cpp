// SPDX-License-Identifier: Apache-2.0
#include "simulator/recompute.hpp"

#include <algorithm>

namespace curtail::protocol::simulator {
namespace {

bool has(SimStore const& store, PartRef const& part) { return store.payload(part) != nullptr; }

// Whether the store has the model, and the momentum if the merge used it.
bool has_base(SimStore const& store, Commit const& merge, Commit const& before)
{
    if (!has(store, before.model.weights)) return false;
    bool const used_momentum = merge.outer_step && before.outer;
    return !used_momentum || has(store, before.outer->momentum);
}

bool has_delta(SimStore const& store, ContributionDecision const& decision)
{
    auto const name = header_name(decision.member, decision.seq);
    auto const bytes = store.get(name);
    if (!decision.header || !bytes || sha256(*bytes) != *decision.header) return false;
    return has(store, decode_header(*bytes, name)->delta->payload);
}

}  // namespace

bool can_recompute(SimStore const& store, Params const& params)
{
    // With one model, the merge itself deletes what it was made from.
    if (params.keep_models < 2) return false;
    auto const& chain = store.chain();
    auto const made = std::find_if(chain.rbegin(), chain.rend(),
                                   [](Commit const& c) { return c.kind != Commit::Kind::roster; });
    if (made->kind != Commit::Kind::merge || !has_base(store, *made, *(made + 1))) return false;
    return std::all_of(made->decided.begin(), made->decided.end(), [&](auto const& d) {
        return d.refused || d.ranges.empty() || has_delta(store, d);
    });
}

}  // namespace curtail::protocol::simulator
