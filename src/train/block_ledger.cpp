// SPDX-License-Identifier: Apache-2.0
#include "train/block_ledger.hpp"

#include <stdexcept>
#include <utility>

namespace curtail::train {

rounds::Ranges BlockLedger::next_blocks(rounds::Ranges const& held, std::int64_t most) const
{
    auto free = held - since_ - skipped_;
    for (auto const& [seq, ranges] : undecided_) free -= ranges;
    return free.lowest(most);
}

void BlockLedger::record_step(rounds::Ranges const& blocks)
{
    since_ += blocks;
    ++steps_since_;
}

void BlockLedger::skip_step(rounds::Ranges const& blocks)
{
    since_ -= blocks;
    --steps_since_;
    skipped_ += blocks;
}

BlockLedger::Cut BlockLedger::cut(Seq seq)
{
    if (undecided_.contains(seq))
        throw std::logic_error("cut " + std::to_string(seq.value) + " was already made");
    Cut made{std::exchange(since_, {}), std::exchange(skipped_, {}),
             std::exchange(steps_since_, 0)};
    undecided_.emplace(seq, made.ranges + made.skipped);
    return made;
}

void BlockLedger::forget(std::vector<Seq> const& seqs)
{
    for (auto const seq : seqs) undecided_.erase(seq);
}

}  // namespace curtail::train
