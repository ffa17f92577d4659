// SPDX-License-Identifier: Apache-2.0
#include "bill/account/thin.hpp"

#include <algorithm>
#include <set>

namespace curtail::account {
namespace {

constexpr std::size_t kept_per_bucket = 6;

// Indices to keep of the bucket [from, to): its ends, its lowest and highest value, and its first
// and last missing one.
std::set<std::size_t> keep_of_bucket(std::span<std::optional<double> const> values,
                                     std::size_t from, std::size_t to)
{
    std::optional<std::size_t> lowest, highest, first_gap, last_gap;
    for (std::size_t i = from; i < to; ++i) {
        if (!values[i]) {
            first_gap = first_gap.value_or(i);
            last_gap = i;
            continue;
        }
        if (!lowest || *values[i] < *values[*lowest]) lowest = i;
        if (!highest || *values[i] > *values[*highest]) highest = i;
    }
    std::set<std::size_t> kept{from, to - 1};
    for (auto const& index : {lowest, highest, first_gap, last_gap})
        if (index) kept.insert(*index);
    return kept;
}

}  // namespace

std::vector<std::size_t> thin_line(std::span<std::optional<double> const> values, std::size_t most)
{
    if (values.size() <= most) return thin_dots(values.size(), most);
    std::size_t const buckets = std::max<std::size_t>(1, most / kept_per_bucket);
    std::vector<std::size_t> kept;
    for (std::size_t b = 0; b < buckets; ++b) {
        auto const bucket =
            keep_of_bucket(values, values.size() * b / buckets, values.size() * (b + 1) / buckets);
        kept.insert(kept.end(), bucket.begin(), bucket.end());
    }
    return kept;
}

std::vector<std::size_t> thin_dots(std::size_t count, std::size_t most)
{
    std::size_t const stride = (count + most - 1) / std::max<std::size_t>(1, most);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < count; i += std::max<std::size_t>(1, stride)) kept.push_back(i);
    return kept;
}

}  // namespace curtail::account
