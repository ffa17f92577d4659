// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "account/parts.hpp"
#include "reference/energy.hpp"
#include "reference/published_values.hpp"

// The parts of the account of arXiv:2602.22760. Each function computes one of them.
namespace curtail::reference {

inline constexpr Tokens step_tokens{524'288};  ///< tokens of one step at one site
inline constexpr std::int64_t planned_steps = 23'400;

/// The states of each client, in order of time.
using States = std::array<std::vector<account::StateSpan>, 3>;

/// Computes the rounds, still without energy and carbon, and what each client contributed.
[[nodiscard]] account::Work work_of(Logs const& logs, History const& history);

/// Computes the energy and carbon of the clients, windows and rounds.
[[nodiscard]] account::Energy drawn_energy(States const& states,
                                           std::vector<account::WindowAccount> const& windows,
                                           std::vector<account::RoundAccount> const& rounds,
                                           Logs const& logs, History const& history,
                                           Energy const& energy);

/// Computes the training losses. `last_step_s` is the time of the run's last step, in seconds after
/// Logs::zero. `tokens` is the number of tokens that the run trained on.
[[nodiscard]] account::LossAccount loss_of(Logs const& logs, double last_step_s, Tokens tokens);

/// What the run is compared with.
struct Scenarios {
    std::vector<account::Scenario> always_on;  ///< one per region of the trace, with one site
    /// Region -> running totals of the always-on scenario in that region.
    std::map<std::string, account::RunningTotals> cumulative;
    std::vector<account::Scenario> others;  ///< always-on training at two sites
    std::vector<account::Baseline> baselines;
};
/// Computes what the run is compared with.
[[nodiscard]] Scenarios scenarios_of(Logs const& logs, Energy const& energy,
                                     account::LossAccount const& loss);

/// Says where each of the main numbers comes from.
[[nodiscard]] std::vector<account::ProvenanceNote> provenance();
/// Lists facts about the run. `source` is the origin of the logs, as a text for the user.
[[nodiscard]] std::vector<account::FactGroup> facts_of(Logs const& logs, std::string const& source);
/// Returns the key of each missing number or part, and the reason for the user.
[[nodiscard]] std::map<std::string, std::string> missing();
/// Returns the title and the text of each note in the report.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> notes();

}  // namespace curtail::reference
