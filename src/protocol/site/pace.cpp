// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/pace.hpp"

#include <algorithm>
#include <utility>

namespace curtail::protocol::site {

void Pace::begin_read(Round model, std::int64_t keep_models, MonoTime now)
{
    bool const again = read_.runs();
    auto const took = read_.elapsed(now);
    if (!again || std::exchange(retries_, false)) read_.start(now);
    if (again && model == reads_) return;
    bool const may_be_deleted = reads_.value <= model.value - keep_models;
    if (is_missing_ && !is_lost_ && may_be_deleted && took >= round_) ++late_;
    reads_ = model;
    is_missing_ = is_lost_ = false;
}

void Pace::attempt_failed(bool missing)
{
    retries_ = true;
    is_missing_ = is_missing_ || missing;
}

void Pace::begin_publish(Seq contribution, MonoTime now)
{
    if (publish_.runs() && contribution == publishes_) return;
    publishes_ = contribution;
    publish_.start(now);
}

void Pace::decided(ContributionDecision const& own, Round round)
{
    if (own.refused == Refusal::stale) {
        Round const base{round.value - own.staleness};
        // Fast transfers are not to blame.
        bool const slow = read() + publish() >= round_ + step_;
        if (base > stale_base_ && slow) ++late_;
        stale_base_ = std::max(stale_base_, base);
    } else if (!own.refused && !own.ranges.empty()) {
        late_ = 0;
        was_in_time_ = true;
    }
}

void Pace::dropped(MonoTime now, Millis drop_after)
{
    end_read(now);
    end_publish(now);
    if (std::max(read(), publish()) > drop_after) ++late_;
}

}  // namespace curtail::protocol::site
