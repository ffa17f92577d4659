// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/training.hpp"

#include <algorithm>

namespace curtail::protocol::site {

void Training::set_loaded(MonoTime now, MonoTime round_ends)
{
    base_ = requested_;
    loaded_ = true;
    round_ends_ = round_ends;
    tried_ = false;
    last_cut_ = now;
    most_steps_ = 0;
    missed_merge_ = owes_cut_ = false;
}

bool Training::adopted(MonoTime round_ends)
{
    if (requested_ == base_) return false;
    base_ = requested_;
    round_ends_ = round_ends;
    tried_ = false;
    most_steps_ = steps_since_;
    owes_cut_ = owes_cut_ || (missed_merge_ && has_work());
    missed_merge_ = false;
    return true;
}

void Training::step(Ranges const& blocks)
{
    since_ += blocks;
    most_steps_ = std::max(most_steps_, ++steps_since_);
    tried_ = true;
    skips_in_a_row_ = 0;
}

void Training::skip(Ranges const& blocks)
{
    skipped_ += blocks;
    tried_ = true;
    ++skips_in_a_row_;
}

void Training::cut(MonoTime now)
{
    since_ = {};
    steps_since_ = 0;
    skipped_ = {};
    last_cut_ = now;
    skips_in_a_row_ = 0;
    owes_cut_ = false;
}

bool Training::steps_done(Params const& params) const
{
    return params.local_steps > 0 && most_steps_ >= params.local_steps;
}

MonoTime Training::checkpoint_due(Params const& params) const
{
    return last_cut_ + params.checkpoint_interval;
}

// Halves the weight of older steps after every two rounds.
void History::step(Ranges const& blocks, FractionalSeconds seconds, Params const& params)
{
    blocks_ += static_cast<double>(blocks.count());
    seconds_ += seconds.count();
    double const memory = 2 * FractionalSeconds(params.round_time).count();
    if (seconds_ <= memory) return;
    blocks_ /= 2;
    seconds_ /= 2;
}

Rate History::rate(Rate fallback) const
{
    return measured() ? static_cast<Rate>(1e6 * blocks_ / seconds_) : fallback;
}

void History::decided(ContributionDecision const& own)
{
    not_finite_ = own.refused == Refusal::nan ? not_finite_ + 1 : 0;
    bool const skips = !own.refused && own.ranges.empty() && !own.skipped.empty();
    skips_ = skips ? skips_ + 1 : 0;
    only_skipped_ = skips ? only_skipped_ + own.skipped : Ranges{};
}

}  // namespace curtail::protocol::site
