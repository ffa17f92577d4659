// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/result.hpp"

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

/// A part of the check: measures something and returns the lines of the table. May fail.
using Section = std::function<Result<std::vector<Measured>>()>;

/// Tells whether every error is within its tolerance.
[[nodiscard]] bool all_good(std::vector<Measured> const& lines);
/// Returns a table with a heading: name, greatest error, tolerance, times in microseconds, and the
/// reference's time divided by ours.
[[nodiscard]] std::string to_text(std::vector<Measured> const& lines);
/// Returns an array with one object for each line.
[[nodiscard]] json::Array to_json(std::vector<Measured> const& lines);

}  // namespace curtail::check
