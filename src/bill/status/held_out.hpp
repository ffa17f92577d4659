// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "bill/account/followed.hpp"
#include "bill/status/chain_view.hpp"
#include "bill/status/log_view.hpp"

// The held-out losses that a process publishes while it follows the run.
namespace curtail::status {

/// The newest held-out loss of a run, and what a person should look at.
struct HeldOutView {
    account::FollowedState state;
    std::vector<std::string> warnings;
};

/// Takes the losses from the sites' journals in `logs`, up to the newest commit of `chain`. Returns
/// an empty optional if no model was evaluated.
[[nodiscard]] std::optional<HeldOutView> read_held_out(config::Run const& run, LogView const& logs,
                                                       ChainView const& chain);

/// Returns the lines that overview_text() and the value that overview_json() shows.
[[nodiscard]] std::string held_out_text(HeldOutView const& view, Time now);
[[nodiscard]] json::Value held_out_json(HeldOutView const& view);

}  // namespace curtail::status
