// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>

namespace curtail::report {

/// Formats `value` x `factor` with `digits` decimals. Returns `missing` if `value` is empty.
[[nodiscard]] inline std::string number(std::optional<double> value, int digits, double factor = 1,
                                        char const* missing = "-")
{
    return value ? fmt::format("{:.{}f}", *value * factor, digits) : missing;
}

}  // namespace curtail::report
