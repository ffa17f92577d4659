// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "core/json.hpp"
#include "rounds/verify.hpp"
#include "status/chain_view.hpp"
#include "status/site_view.hpp"

/// Pages for people and documents for programs (docs/status.md).
namespace curtail::status {

/// All that is known of a run at the moment `now`.
struct Overview {
    RunId run;
    std::string store;
    Time now;
    std::optional<ChainView> chain;  ///< nothing: the run has not begun
    SitesView sites;
};

[[nodiscard]] std::string overview_text(Overview const& overview);
[[nodiscard]] json::Object overview_json(Overview const& overview);
[[nodiscard]] std::string verified_text(rounds::ChainSummary const& summary,
                                        std::string const& store);
[[nodiscard]] json::Object verified_json(rounds::ChainSummary const& summary,
                                         std::string const& store);

}  // namespace curtail::status
