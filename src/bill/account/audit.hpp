// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bill/account/account.hpp"

// What an auditor needs to judge a run's energy and carbon.
namespace curtail::account {

/// The software carbon intensity of a run: SCI = (E x I + M) / R, as the Green Software Foundation
/// defines it (SCI 1.1, ISO/IEC 21031:2024). E x I is the run's marginal emissions, R is the number
/// of tokens in the committed model, in millions, and M is embodied carbon.
struct Sci {
    double g_per_million_tokens{};
    Grams operational;  ///< E x I
    /// M: the sum over the sites of `embodied_gco2_per_hour` x the hours in which the site held
    /// devices, or in which its nodes were idle between its jobs, on the signal's clock.
    Grams embodied;
};
/// Computes the SCI, or says why the run has none. It needs tokens in the model, the whole marginal
/// emissions, the embodied carbon of each site that held devices or had idle nodes, and what its
/// nodes did between jobs.
[[nodiscard]] tl::expected<Sci, std::string> sci_of(Account const& account);

/// Returns the marginal emissions per million tokens in the model, in grams. Returns an empty
/// optional if the model includes no tokens, or if the emissions are unknown.
[[nodiscard]] std::optional<double> grams_per_million_tokens(Account const& account);

/// One statement for an auditor.
struct AuditLine {
    std::string key;  ///< `power`, `meters`, `signal`, `rule`, `scope`, `logs`, `tail`,
                      ///< `accounting`, `average`, `per_tokens`, `sci`, `recalculated` or `digest`
    std::string title;
    std::string text;
};
/// Lists the statements. There is one line with the key `power` for each group of sites that state
/// the same powers, source and PUE.
[[nodiscard]] std::vector<AuditLine> audit_of(Account const& account);

}  // namespace curtail::account
