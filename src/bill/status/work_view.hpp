// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "bill/account/balance.hpp"
#include "bill/status/chain_view.hpp"
#include "bill/status/log_view.hpp"

// What became of the sites' work.
namespace curtail::status {

/// The balance of each site's work, and what a person should look at.
struct WorkView {
    std::vector<account::WorkBalance> sites;  ///< those of the run's file come first
    std::vector<std::string> warnings;
};

/// Computes the balances from the commits up to the newest one of `chain`, and from `logs`. Fails
/// if a commit is missing or damaged.
[[nodiscard]] Result<WorkView> read_work(config::Run const& run, chain::RunObjects const& objects,
                                         LogView const& logs, ChainView const& chain);

/// Returns the warnings, as lines of the output's first part.
[[nodiscard]] std::string warnings_text(WorkView const& view);
/// Returns the table of the sites' work, and the last loss of each site.
[[nodiscard]] std::string work_text(WorkView const& view, Time now);

}  // namespace curtail::status
