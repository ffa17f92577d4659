// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// Fewer points for a chart. Never before integrating: sums use every sample.
namespace curtail::account {

inline constexpr std::size_t most_points_of_a_line = 4000;

/// Indices to keep of a line: per bucket the first, least, greatest and last value, in order, so
/// that no peak and no dip is lost; also the first and last missing value of a bucket, so that a
/// gap stays one. At most `most` of them (at least 8); all if there are no more.
[[nodiscard]] std::vector<std::size_t> thin_line(std::span<std::optional<double> const> values,
                                                 std::size_t most = most_points_of_a_line);
[[nodiscard]] std::vector<std::size_t> thin_line(std::span<double const> values,
                                                 std::size_t most = most_points_of_a_line);
/// Indices to keep of a cloud of dots: every n-th, at most `most`. A fair sample, where extremes
/// would widen the cloud.
[[nodiscard]] std::vector<std::size_t> thin_dots(std::size_t count, std::size_t most);

template <class T>
[[nodiscard]] std::vector<T> pick(std::vector<T> const& values,
                                  std::vector<std::size_t> const& indices)
{
    std::vector<T> out;
    out.reserve(indices.size());
    for (auto const i : indices) out.push_back(values[i]);
    return out;
}

}  // namespace curtail::account
