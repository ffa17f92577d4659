// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/pace.hpp"

#include <algorithm>
#include <utility>

namespace curtail::protocol::site {

void Pace::begin_read(Round model, std::int64_t keep_models, MonoTime now)
{
    bool const again = read_.runs();
    if (!tries_.runs()) tries_.start(now);
    if (!again || std::exchange(retries_, false)) read_.start(now);
    if (again && model == reads_) return;
    bool const may_be_deleted =
        is_missing_ && !is_lost_ && reads_.value <= model.value - keep_models;
    if (again && may_be_deleted && tries_.elapsed(now) >= round_) {
        ++late_;
        tries_.start(now);
    }
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
    auto const tried = tries_.elapsed(now);
    end_read(now);
    end_publish(now);
    if (std::max({tried, read(), publish()}) > drop_after) ++late_;
}

}  // namespace curtail::protocol::site
