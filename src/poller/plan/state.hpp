// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "poller/plan/job.hpp"

namespace curtail::plan {

/// A decision to submit a job. The outcome of the submission is not yet known. All times are real
/// times, here and below.
struct Intent {
    IntentId id;
    WindowId window;
    Time since;  ///< time of the decision; once `uncertain` is set, the time at which it was set
    bool uncertain{false};  ///< the launcher's answer was lost, or the poller died; stored as
                            ///< `in_doubt`
    friend bool operator==(Intent const&, Intent const&) = default;
};

/// A job that the poller manages, from its submission or discovery until the launcher lists it as
/// ended or no longer lists it.
struct TrackedJob {
    JobId id;
    WindowId window;
    IntentId intent;
    std::optional<Time> running_since;
    std::optional<Time> asked_since;    ///< time of the first attempt to drain or cancel
    std::optional<Time> drained_since;  ///< time of the first drain signal that was delivered
    std::optional<Time> last_drain;     ///< time of the last attempt to drain
    std::optional<Time> last_cancel;    ///< time of the last attempt to cancel or end leftovers
    int drains{0};                      ///< number of drain attempts
    bool cancel_arrived{false};         ///< the launcher accepted a cancel
    std::optional<Time> ending_since;   ///< when the job was first seen between `running` and
                                        ///< `ended`
    std::optional<Time> submitted;      ///< by the launcher's clock; empty until it lists the job
    std::string launcher_state{};       ///< as the launcher listed it last; empty before
    [[nodiscard]] Submission submission() const { return {id, intent, submitted}; }
    friend bool operator==(TrackedJob const&, TrackedJob const&) = default;
};

/// What the poller remembers about one site's jobs from one poll to the next. It is stored as JSON
/// and compared in tests.
struct SiteState {
    std::vector<TrackedJob> jobs;  ///< in the order in which they became known
    std::optional<Intent> intent;  ///< the submission whose outcome is not yet known; at most one
                                   ///< at a time
    int failures{0};               ///< number of consecutive failures of jobs
    /// Number of consecutive setbacks: refused or lost submissions, and jobs that ended through no
    /// fault of their own. They delay the next submission but are not failures.
    int setbacks{0};
    std::optional<Time> retry_at;  ///< no job is submitted before this time
    std::string failure;           ///< description of the last failure or setback, for the user
    friend bool operator==(SiteState const&, SiteState const&) = default;
};

/// Returns the state as JSON for the poller's state file.
[[nodiscard]] json::Value to_json(SiteState const& state);
/// Reads what to_json() writes. Fails with `data` for any other value. `where` is the file's name
/// in error messages.
[[nodiscard]] Result<SiteState> read_site_state(json::Value const& value, std::string const& where);

}  // namespace curtail::plan
