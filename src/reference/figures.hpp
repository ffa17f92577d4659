// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "energy/grid.hpp"
#include "reference/history.hpp"

/// The published figures of arXiv:2602.22760, computed from its logs (docs/energy.md states every
/// rule).
namespace curtail::reference {

/// Exponential smoothing y0 = x0, yi = a y(i-1) + (1 - a) xi; answers its least value. Throws on an
/// empty list.
[[nodiscard]] double least_smoothed(std::vector<double> const& values, double a);

/// What one site or baseline drew, on the 60 s grid.
struct Energy {
    energy::Grid grid;
    std::array<std::vector<Watts>, 3> power;  ///< per client and grid point
    std::vector<Watts> one_site;              ///< baseline: power from its first to its last step
    std::array<energy::Tally, 3> clients;     ///< with each client's own region
    energy::Tally run;                        ///< their sum
    std::map<std::string, energy::Tally>
        always_on;  ///< the one-site baseline in each region of the trace
    [[nodiscard]] double ratio_to(std::string const& region) const
    {
        return ratio(run.carbon, always_on.at(region).carbon);
    }
};
[[nodiscard]] Energy energy_of(Logs const& logs, History const& history);

/// Best smoothed training perplexity.
struct Perplexity {
    double run{};
    double one_site{};
    double two_sites{};
};
[[nodiscard]] Perplexity perplexity_of(Logs const& logs);

/// Medians over rounds with two sites, in seconds (upper median of an even number, as the reference
/// took them).
struct RoundTimes {
    std::size_t joint{};  ///< rounds with two sites
    double duration{};    ///< start to merge
    double training{};
    double before_first_step{};  ///< start to the start of the first step: one step less than its
                                 ///< log line says
    double after_last_step{};
    double merge{};
};
[[nodiscard]] RoundTimes round_times(Logs const& logs, History const& history);

/// Seconds a step takes: last minus first time over steps between.
[[nodiscard]] double seconds_per_step(std::vector<LoggedStep> const& steps);

/// One published figure.
struct Figure {
    std::string key;    ///< `co2_kg`, `baseline_co2_kg.DE`
    std::string label;  ///< for people
    double value{};
    std::string unit;  ///< empty: a plain number
};
/// All of them, in the order in which the technical report's numbers are listed in docs/energy.md.
[[nodiscard]] std::vector<Figure> figures_of(Logs const& logs, History const& history);

[[nodiscard]] std::string figures_text(
    std::vector<Figure> const& figures);  ///< a table, 12 significant digits
[[nodiscard]] json::Object figures_json(
    std::vector<Figure> const& figures);  ///< key -> {value, unit, label}

}  // namespace curtail::reference
