// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "reference/history.hpp"

// Computes the published numbers of arXiv:2602.22760 from the logs of the experiment.
// docs/energy.md states the rules.
namespace curtail::reference {

/// Smooths `values` exponentially, and returns the lowest smoothed value. With the values x_i,
/// the smoothed values are y_0 = x_0 and y_i = a y_(i-1) + (1 - a) x_i. Throws std::out_of_range if
/// `values` is empty.
[[nodiscard]] double minimum_smoothed(std::vector<double> const& values, double a);

/// The lowest smoothed training perplexity of the run, and of the always-on runs Logs::one_site and
/// Logs::two_sites.
struct Perplexity {
    double run{};
    double one_site{};
    double two_sites{};
};
/// Computes the lowest smoothed perplexities. For the run, first averages the perplexities of
/// steps that were logged at the same time.
[[nodiscard]] Perplexity perplexity_of(Logs const& logs);

/// Median durations in joint rounds, in seconds. A joint round has two or more sites. The median of
/// an even number of values is the upper of the middle two, as in the technical report.
struct RoundTimes {
    std::size_t joint_rounds{};  ///< number of joint rounds
    double duration{};           ///< from Round::start to Round::merged
    double training{};           ///< total time that one site trained in one round
    /// From Round::start to the start of the round's first step. The start is estimated: the time
    /// of the first logged step, minus the mean duration of a step in Logs::one_site.
    double before_first_step{};
    double after_last_step{};  ///< from the round's last step to Round::end
    double merge{};            ///< from Round::end to Round::merged
};
/// Computes the medians. `duration` and `merge` leave out rounds without Round::merged.
/// `before_first_step` and `after_last_step` leave out long rounds. A round is long if its
/// time from Round::start to Round::end is at least twice the median of this time.
[[nodiscard]] RoundTimes round_times(Logs const& logs, History const& history);

/// Returns the mean duration of a step in seconds. This is the time from the first to the last
/// logged step, divided by the difference between the numbers of these two steps.
[[nodiscard]] double seconds_per_step(std::vector<LoggedStep> const& steps);

/// One published number.
struct PublishedValue {
    std::string key;    ///< such as `co2_kg` or `baseline_co2_kg.DE`
    std::string label;  ///< text for the user
    double value{};
    std::string unit;  ///< empty if the number has no unit
};
/// Computes all published numbers.
[[nodiscard]] std::vector<PublishedValue> published_values(Logs const& logs,
                                                           History const& history);

/// Writes the numbers as a table, with 12 significant digits.
[[nodiscard]] std::string published_text(std::vector<PublishedValue> const& values);
/// Writes the numbers as an object: key -> {value, unit, label}.
[[nodiscard]] json::Object published_json(std::vector<PublishedValue> const& values);

}  // namespace curtail::reference
