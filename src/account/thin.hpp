// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// Thins points for a chart. Sums are computed before, from every sample.
namespace curtail::account {

inline constexpr std::size_t most_points_of_a_line = 4000;

/// Indices of the points of a line to keep: per bucket the first, lowest, highest and last value,
/// so that every peak and dip remains, and the first and last missing value, so that gaps remain.
/// At most `most` indices (at least 8), or all of them if there are no more. In order.
[[nodiscard]] std::vector<std::size_t> thin_line(std::span<std::optional<double> const> values,
                                                 std::size_t most = most_points_of_a_line);
[[nodiscard]] std::vector<std::size_t> thin_line(std::span<double const> values,
                                                 std::size_t most = most_points_of_a_line);
/// Indices of single dots to keep: every n-th, at most `most`. Keeping the extremes would make the
/// cloud of dots look wider than it is.
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
