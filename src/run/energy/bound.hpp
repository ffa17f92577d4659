// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace curtail::energy {

/// How a figure relates to the true amount.
enum class Bound {
    exact,
    at_least,  ///< something is missing
    at_most,   ///< it was taken at the upper end of what is possible
    uncertain  ///< records contradict each other, or it is both of the above
};

/// Returns the relation of a sum of two figures.
[[nodiscard]] constexpr Bound operator|(Bound a, Bound b)
{
    if (a == Bound::exact || a == b) return b;
    return b == Bound::exact ? a : Bound::uncertain;
}

/// Returns `exact`, `at least`, `at most` or `uncertain`.
[[nodiscard]] constexpr char const* name(Bound bound)
{
    constexpr char const* names[] = {"exact", "at least", "at most", "uncertain"};
    return names[static_cast<int>(bound)];
}

/// Returns the words before a figure with a bound: empty, `at least `, `at most ` or `about `.
[[nodiscard]] constexpr char const* words(Bound bound)
{
    constexpr char const* all[] = {"", "at least ", "at most ", "about "};
    return all[static_cast<int>(bound)];
}

}  // namespace curtail::energy
