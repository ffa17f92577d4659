// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/clipping.hpp"

#include <algorithm>
#include <map>

namespace curtail::protocol {
namespace {

constexpr std::size_t enough_norms = 8;
constexpr double most_times_usual = 6;

bool counts(ContributionDecision const& d) { return !d.refused && !d.ranges.empty() && d.norm > 0; }

// Returns the length above which a merge clips a delta, or 0 if too few lengths are known.
double limit(std::span<double const> norms, std::span<ContributionDecision const> decided)
{
    std::vector<double> known(norms.begin(), norms.end());
    if (known.size() < enough_norms)
        for (auto const norm : norms_in(decided)) known.push_back(norm);
    if (known.size() < 2) return 0;
    // Of two lengths, the lower one: an outlier must not set the limit.
    auto const middle = known.begin() + static_cast<std::ptrdiff_t>((known.size() - 1) / 2);
    std::ranges::nth_element(known, middle);
    return most_times_usual * *middle;
}

}  // namespace

std::vector<double> norms_in(std::span<ContributionDecision const> decided)
{
    std::vector<double> norms;
    std::map<MemberId, std::size_t> votes;
    for (auto const& d : decided) {
        if (!counts(d)) continue;
        auto const [vote, is_first] = votes.try_emplace(d.member, norms.size());
        if (is_first) norms.push_back(d.norm);
        else norms[vote->second] = std::min(norms[vote->second], d.norm);
    }
    return norms;
}

std::vector<double> clip_factors(std::span<double const> norms,
                                 std::span<ContributionDecision const> decided)
{
    auto const most = limit(norms, decided);
    std::vector<double> factors;
    for (auto const& d : decided)
        factors.push_back(most > 0 && counts(d) && !d.inlined && d.norm > most ? most / d.norm
                                                                               : 1.0);
    return factors;
}

}  // namespace curtail::protocol
