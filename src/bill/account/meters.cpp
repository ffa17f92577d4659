// SPDX-License-Identifier: Apache-2.0
#include "bill/account/meters.hpp"

#include <algorithm>

namespace curtail::account {

std::optional<MeteredTraining> metered_training(std::vector<StepMetrics> const& steps)
{
    MeteredTraining sum;
    double all = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto const& step = steps[i];
        all += step.duration.count();
        if (i == 0 || !step.metered_j || *step.metered_j < 0) continue;
        FractionalSeconds const since = step.time - steps[i - 1].time;
        // Two threads may read the clock at slightly different times.
        bool const follows = since > FractionalSeconds{0} &&
                             std::chrono::abs(since - step.duration) <=
                                 std::max(FractionalSeconds{0.1}, 0.1 * step.duration);
        if (!follows) continue;
        sum.joules += *step.metered_j;
        sum.seconds += since.count();
    }
    if (sum.seconds <= 0 || all <= 0) return std::nullopt;
    sum.share = std::min(1.0, sum.seconds / all);
    return sum;
}

}  // namespace curtail::account
