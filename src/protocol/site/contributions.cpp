// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/contributions.hpp"

#include <algorithm>

namespace curtail::protocol::site {

void Contributions::add(OwnContribution own)
{
    undecided_.push_back(std::move(own));
    next_seq_ = next_seq_.next();
}

std::int64_t Contributions::count() const { return static_cast<std::int64_t>(undecided_.size()); }

Ranges Contributions::kept_ranges() const
{
    auto all = dropped_ranges_;
    for (auto const& own : undecided_) all += own.header.ranges + own.header.skipped;
    return all;
}

Tokens Contributions::tokens() const
{
    Tokens sum;
    for (auto const& own : undecided_) sum += own.header.tokens;
    return sum;
}

OwnContribution* Contributions::next_unpublished()
{
    auto const it = std::ranges::find(undecided_, false, &OwnContribution::published);
    return it == undecided_.end() ? nullptr : &*it;
}

OwnContribution const* Contributions::next_unpublished() const
{
    auto const it = std::ranges::find(undecided_, false, &OwnContribution::published);
    return it == undecided_.end() ? nullptr : &*it;
}

bool Contributions::has_published() const
{
    return std::ranges::any_of(undecided_, &OwnContribution::published);
}

void Contributions::doubt()
{
    for (auto& own : undecided_) {
        own.doubtful = own.published;
        own.unproven = own.published && own.header.delta;
    }
}

OwnContribution* Contributions::next_doubtful()
{
    auto const it = std::ranges::find(undecided_, true, &OwnContribution::doubtful);
    return it == undecided_.end() ? nullptr : &*it;
}

OwnContribution* Contributions::next_unproven()
{
    auto const it = std::ranges::find(undecided_, true, &OwnContribution::unproven);
    return it == undecided_.end() ? nullptr : &*it;
}

void Contributions::remove_decided(Seq last)
{
    auto const decided = [&](OwnContribution const& own) { return own.header.seq <= last; };
    for (auto const& own : undecided_) {
        if (!decided(own)) continue;
        dropped_.push_back(own.header.seq);
        dropped_ranges_ += own.header.ranges + own.header.skipped;
        drops_work_ = drops_work_ || !own.header.ranges.empty();
    }
    std::erase_if(undecided_, decided);
}

}  // namespace curtail::protocol::site
