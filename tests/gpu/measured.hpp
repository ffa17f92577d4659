// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/core/json.hpp"
#include "base/core/result.hpp"

namespace curtail::check {

/// How long our code and the code that it is compared with take, in seconds.
struct Times {
    double ours_s{};
    double reference_s{};
};

/// One line of the table that curtail-gpu-check prints.
struct Measured {
    std::string name;
    double error{};  ///< greatest error, in the unit of `tolerance`
    double tolerance{};
    std::optional<Times> times;
    [[nodiscard]] bool good() const { return error <= tolerance; }  ///< false for NaN
};

/// Returns the heading of the table.
[[nodiscard]] std::string heading();
/// Returns a line of the table: name, greatest error, tolerance, times in microseconds, and the
/// reference's time divided by ours.
[[nodiscard]] std::string to_text(Measured const& line);
[[nodiscard]] json::Object to_json(Measured const& line);

}  // namespace curtail::check
