// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "plan/job.hpp"

namespace curtail::plan {

/// A decision to submit whose outcome is still unknown.
struct Intent {
    IntentId id;
    WindowId window;
    Time since;             ///< the decision's time; of an uncertain one, when it became uncertain
    bool uncertain{false};  ///< its answer was lost, or its poller died; stored as `in_doubt`
    friend bool operator==(Intent const&, Intent const&) = default;
};

/// A job that the poller manages, from its submission or adoption until it is seen to have ended.
struct TrackedJob {
    JobId id;
    WindowId window;
    IntentId intent;
    std::optional<Time> running_since;
    std::optional<Time> asked_since;    ///< first stop request of any form; the job is leaving
    std::optional<Time> drained_since;  ///< first drain signal that was delivered
    std::optional<Time> last_drain;     ///< last attempt
    std::optional<Time> last_cancel;    ///< last attempt
    int drains{0};                      ///< attempts
    bool cancel_arrived{false};
    friend bool operator==(TrackedJob const&, TrackedJob const&) = default;
};

/// What the poller remembers of one site's jobs between two polls. Value type: stored as JSON,
/// compared in tests.
struct SiteState {
    std::vector<TrackedJob> jobs;  ///< in the order in which they became known
    std::optional<Intent> intent;  ///< at most one is open
    int failures{0};               ///< consecutive failures of submissions and jobs
    std::optional<Time> retry_at;  ///< no new job before
    std::string failure;           ///< text of the last failure
    friend bool operator==(SiteState const&, SiteState const&) = default;
};

[[nodiscard]] json::Value to_json(SiteState const& state);
/// Reads the output of to_json; `data` for anything else. `where` names the file in errors.
[[nodiscard]] Result<SiteState> read_site_state(json::Value const& value, std::string const& where);

}  // namespace curtail::plan
