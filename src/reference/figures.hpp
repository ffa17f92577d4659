// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "reference/history.hpp"

/// The published figures of arXiv:2602.22760, computed from its logs. docs/energy.md states the
/// rules.
namespace curtail::reference {

/// Exponential smoothing y0 = x0, yi = a y(i-1) + (1 - a) xi; returns the minimum. Throws on an
/// empty list.
[[nodiscard]] double minimum_smoothed(std::vector<double> const& values, double a);

/// Best smoothed training perplexity.
struct Perplexity {
    double run{};
    double one_site{};
    double two_sites{};
};
[[nodiscard]] Perplexity perplexity_of(Logs const& logs);

/// Medians over rounds with two sites, in seconds. Of an even number, the upper one, as in the
/// reference.
struct RoundTimes {
    std::size_t joint{};  ///< rounds with two sites
    double duration{};    ///< start of the round to its merge
    double training{};
    double before_first_step{};  ///< start of the round to the start of its first step
    double after_last_step{};
    double merge{};
};
[[nodiscard]] RoundTimes round_times(Logs const& logs, History const& history);

/// Mean duration of a step in seconds: last minus first time, divided by the steps between.
[[nodiscard]] double seconds_per_step(std::vector<LoggedStep> const& steps);

/// One published figure.
struct Figure {
    std::string key;    ///< `co2_kg`, `baseline_co2_kg.DE`
    std::string label;  ///< for people
    double value{};
    std::string unit;  ///< empty: a plain number
};
/// All of them, in the order of docs/energy.md.
[[nodiscard]] std::vector<Figure> figures_of(Logs const& logs, History const& history);

[[nodiscard]] std::string figures_text(
    std::vector<Figure> const& figures);  ///< a table, 12 significant digits
[[nodiscard]] json::Object figures_json(
    std::vector<Figure> const& figures);  ///< key -> {value, unit, label}

}  // namespace curtail::reference
