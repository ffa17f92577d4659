// SPDX-License-Identifier: Apache-2.0
#include "account/thin.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace curtail::account {
namespace {

constexpr std::size_t kept_per_bucket = 6;

std::vector<std::size_t> all(std::size_t count)
{
    std::vector<std::size_t> indices(count);
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

}  // namespace

std::vector<std::size_t> thin_line(std::span<std::optional<double> const> values, std::size_t most)
{
    if (values.size() <= most) return all(values.size());
    std::size_t const buckets = std::max<std::size_t>(1, most / kept_per_bucket);
    std::vector<std::size_t> kept;
    for (std::size_t b = 0; b < buckets; ++b) {
        std::size_t const from = values.size() * b / buckets;
        std::size_t const to = values.size() * (b + 1) / buckets;
        std::set<std::size_t> bucket{from, to - 1};
        std::optional<std::size_t> least, greatest, first_gap, last_gap;
        for (std::size_t i = from; i < to; ++i) {
            if (!values[i]) {
                if (!first_gap) first_gap = i;
                last_gap = i;
                continue;
            }
            if (!least || *values[i] < *values[*least]) least = i;
            if (!greatest || *values[i] > *values[*greatest]) greatest = i;
        }
        for (auto const& index : {least, greatest, first_gap, last_gap})
            if (index) bucket.insert(*index);
        kept.insert(kept.end(), bucket.begin(), bucket.end());
    }
    return kept;
}

std::vector<std::size_t> thin_line(std::span<double const> values, std::size_t most)
{
    std::vector<std::optional<double>> const copy(values.begin(), values.end());
    return thin_line(std::span<std::optional<double> const>(copy), most);
}

std::vector<std::size_t> thin_dots(std::size_t count, std::size_t most)
{
    std::size_t const stride = (count + most - 1) / std::max<std::size_t>(1, most);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < count; i += std::max<std::size_t>(1, stride)) kept.push_back(i);
    return kept;
}

}  // namespace curtail::account
