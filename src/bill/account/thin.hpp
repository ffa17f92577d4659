// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

// Reduces the number of points in a chart. Totals in the report do not depend on this reduction:
// they are computed from all data.
namespace curtail::account {

/// Maximum number of points in a line of a chart.
inline constexpr std::size_t max_points_per_line = 4000;

/// Selects the points of a line that a chart should keep, and returns their indices in ascending
/// order. If the line has at most `most` points, the chart keeps all of them. Otherwise it keeps at
/// most max(`most`, 6) points.
///
/// To select points, this function divides the line into buckets of consecutive points. Each bucket
/// keeps its first and last point, its lowest and highest value, and its first and last missing
/// value.
[[nodiscard]] std::vector<std::size_t> thin_line(std::span<std::optional<double> const> values,
                                                 std::size_t most = max_points_per_line);
/// Selects at most `most` points of a scatter plot with `count` points, and returns their indices.
/// The indices are evenly spaced. Extremes get no preference, because a preference would make the
/// cloud of points look wider than it is.
[[nodiscard]] std::vector<std::size_t> thin_dots(std::size_t count, std::size_t most);

/// Returns the elements of `values` at `indices`.
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
