// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bill/account/account.hpp"

// What an auditor needs to judge a run's energy and carbon.
namespace curtail::account {

/// The software carbon intensity of a run: SCI = (E x I + M) / R, as the Green Software Foundation
/// defines it (ISO/IEC 21031:2024). E x I is the run's carbon at marginal intensity, R is the
/// number of tokens in the committed model, in millions, and M is embodied carbon.
struct Sci {
    double g_per_million_tokens{};
    bool is_lower_bound{false};  ///< some of the intensity is unknown (energy::Tally::whole)
    Grams operational;           ///< E x I
    /// M: the sum over the sites of `embodied_gco2_per_hour` x the hours in which the site held
    /// devices, on the signal's clock. Empty if a site that held devices states no such value; the
    /// SCI then has the operational part only.
    std::optional<Grams> embodied;
};
/// Computes the SCI. Returns an empty optional if the model includes no tokens, or if the run's
/// carbon is unknown.
[[nodiscard]] std::optional<Sci> sci_of(Account const& account);

/// One statement for an auditor.
struct AuditLine {
    std::string key;  ///< `power`, `signal`, `rule`, `scope`, `logs`, `tail`, `accounting`,
                      ///< `average`, `sci`, `recalculated` or `digest`
    std::string title;
    std::string text;
};
/// Lists the statements. There is one line with the key `power` for each group of sites that state
/// the same powers, source and PUE.
[[nodiscard]] std::vector<AuditLine> audit_of(Account const& account);

}  // namespace curtail::account
