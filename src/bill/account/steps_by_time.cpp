// SPDX-License-Identifier: Apache-2.0
#include "bill/account/steps_by_time.hpp"

#include <algorithm>

namespace curtail::account {
namespace {

using runlog::StepMetrics;

bool is_earlier(StepMetrics const& a, StepMetrics const& b) { return a.time < b.time; }

}  // namespace

StepsByTime::StepsByTime(std::vector<StepMetrics> const& steps) : steps_(steps)
{
    std::vector<FractionalSeconds> durations;
    for (auto const& step : steps) durations.push_back(step.duration);
    auto const middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    if (!durations.empty()) median_ = *middle;
    if (std::is_sorted(steps.begin(), steps.end(), is_earlier)) return;
    sorted_ = steps;
    std::stable_sort(sorted_.begin(), sorted_.end(), is_earlier);
    steps_ = sorted_;
}

std::span<StepMetrics const> StepsByTime::between(Time from, Time to) const
{
    auto const ends_before = [](StepMetrics const& step, Time time) { return step.time < time; };
    auto const first = std::lower_bound(steps_.begin(), steps_.end(), from, ends_before);
    auto const last = std::lower_bound(first, steps_.end(), std::max(from, to), ends_before);
    return {first, last};
}

}  // namespace curtail::account
