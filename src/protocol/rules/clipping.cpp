// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/clipping.hpp"

#include <algorithm>

namespace curtail::protocol {
namespace {

constexpr std::size_t enough_norms = 8;
constexpr double most_times_usual = 6;

bool counts(ContributionDecision const& d)
{
    return !d.refused && !d.ranges.empty() && !d.inlined && d.norm > 0;
}

// Returns the length above which a merge clips a delta, or 0 if too few lengths are known.
double limit(std::span<double const> norms, std::span<ContributionDecision const> decided)
{
    std::vector<double> known(norms.begin(), norms.end());
    if (known.size() < enough_norms)
        for (auto const& d : decided)
            if (counts(d)) known.push_back(d.norm);
    if (known.size() < 2) return 0;
    // Of two lengths, the lower one: an outlier must not set the limit.
    auto const middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
    std::ranges::nth_element(known, middle);
    return most_times_usual * *middle;
}

}  // namespace

std::vector<double> clip_factors(std::span<double const> norms,
                                 std::span<ContributionDecision const> decided)
{
    auto const most = limit(norms, decided);
    std::vector<double> factors;
    for (auto const& d : decided)
        factors.push_back(most > 0 && counts(d) && d.norm > most ? most / d.norm : 1.0);
    return factors;
}

}  // namespace curtail::protocol
