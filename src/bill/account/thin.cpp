// SPDX-License-Identifier: Apache-2.0
#include "bill/account/thin.hpp"

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

// The lowest and highest value of a bucket, and its first and last missing one.
class Bucket {
  public:
    void add(std::size_t i, std::span<std::optional<double> const> values)
    {
        if (!values[i]) {
            if (!first_gap_) first_gap_ = i;
            last_gap_ = i;
            return;
        }
        if (!lowest_ || *values[i] < *values[*lowest_]) lowest_ = i;
        if (!highest_ || *values[i] > *values[*highest_]) highest_ = i;
    }
    void add_to(std::set<std::size_t>& kept) const
    {
        for (auto const& index : {lowest_, highest_, first_gap_, last_gap_})
            if (index) kept.insert(*index);
    }

  private:
    std::optional<std::size_t> lowest_, highest_, first_gap_, last_gap_;
};

// Indices to keep of the bucket [from, to).
std::set<std::size_t> keep_of_bucket(std::span<std::optional<double> const> values,
                                     std::size_t from, std::size_t to)
{
    Bucket bucket;
    for (std::size_t i = from; i < to; ++i) bucket.add(i, values);
    std::set<std::size_t> kept{from, to - 1};
    bucket.add_to(kept);
    return kept;
}

}  // namespace

std::vector<std::size_t> thin_line(std::span<std::optional<double> const> values, std::size_t most)
{
    if (values.size() <= most) return all(values.size());
    std::size_t const buckets = std::max<std::size_t>(1, most / kept_per_bucket);
    std::vector<std::size_t> kept;
    for (std::size_t b = 0; b < buckets; ++b) {
        auto const bucket =
            keep_of_bucket(values, values.size() * b / buckets, values.size() * (b + 1) / buckets);
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
