// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/recorded_merge.hpp"

#include "protocol/records/terms.hpp"

namespace curtail::protocol {
namespace {

PayloadPlace place_of(PartRef const& payload) { return {payload.part, payload.name}; }

}  // namespace

Merge recorded_merge(RunSpec const& run, Commit const& made, Commit const& parent,
                     std::vector<Header> const& headers)
{
    auto const outer = in_force(run, parent).outer;
    Merge merge;
    merge.model = parent.model;
    merge.outer = parent.outer;
    merge.outer_step = made.outer_step;
    merge.eta = outer.eta;
    merge.mu = outer.mu;
    merge.weights = place_of(made.model.weights);
    if (made.outer_step && made.outer) merge.momentum = place_of(made.outer->momentum);
    auto header = headers.begin();
    for (auto const& d : made.decided) {
        if (!adds_work(d)) continue;
        merge.include.push_back({d.member, d.seq, d.scale, (header++)->delta.value()});
    }
    return merge;
}

}  // namespace curtail::protocol
