// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "account/account.hpp"
#include "reference/energy.hpp"
#include "reference/figures.hpp"

/// The parts of the reference's account. Each function computes one of them.
namespace curtail::reference {

inline constexpr std::int64_t step_tokens = 524'288;  ///< per site and optimizer step
inline constexpr std::int64_t planned_steps = 23'400;

/// One site's part of the bill.
struct SiteEnergy {
    energy::Bill bill;
    std::vector<energy::Tally> cumulative;
    std::vector<energy::Tally> windows;  ///< as `windows`; 0 for those of other sites
    std::vector<energy::Tally> rounds;   ///< as `rounds`
};
/// `site` is the index of the client; `states` are the states in which it held devices.
[[nodiscard]] SiteEnergy site_energy(std::size_t site,
                                     std::vector<account::StateSpan> const& states,
                                     std::vector<account::WindowAccount> const& windows,
                                     std::vector<account::RoundAccount> const& rounds,
                                     Logs const& logs, History const& history,
                                     Energy const& energy);

[[nodiscard]] account::LossAccount loss_of(Logs const& logs, double last_step_s,
                                           std::int64_t tokens);

struct Scenarios {
    std::vector<account::Scenario> always_on;
    std::map<std::string, account::RunningTotals> cumulative;  ///< by region
    std::vector<account::Scenario> others;
    std::vector<account::Baseline> baselines;
};
[[nodiscard]] Scenarios scenarios_of(Logs const& logs, Energy const& energy,
                                     account::LossAccount const& loss);

[[nodiscard]] std::vector<account::ProvenanceNote> provenance();
[[nodiscard]] std::vector<account::FactGroup> facts_of(Logs const& logs, std::string const& source);
[[nodiscard]] std::map<std::string, std::string> missing();
[[nodiscard]] std::vector<std::pair<std::string, std::string>> notes();

}  // namespace curtail::reference
