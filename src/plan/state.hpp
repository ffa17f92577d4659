// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "plan/job.hpp"

namespace curtail::plan {

/// A decision to submit whose outcome is not known yet.
struct Intent {
    IntentId id;
    WindowId window;
    Time since;            ///< made then; in doubt: since when
    bool in_doubt{false};  ///< its answer was lost, or its poller died
    friend bool operator==(Intent const&, Intent const&) = default;
};

/// A job that is looked after, from the moment it is known to the moment it is seen to be gone.
struct Tracked {
    JobId id;
    WindowId window;
    IntentId intent;
    std::optional<Time> running_since;
    std::optional<Time>
        asked_since;  ///< first asked to go, in whatever way; from then on it counts as leaving
    std::optional<Time> drained_since;  ///< the first drain signal that was delivered
    std::optional<Time> last_drain;     ///< tried
    std::optional<Time> last_cancel;    ///< tried
    int drains{0};                      ///< tried so often
    bool cancel_arrived{false};
    friend bool operator==(Tracked const&, Tracked const&) = default;
};

/// What is remembered of one site's jobs between two looks. Value type: stored as JSON, compared in
/// tests.
struct SiteState {
    std::vector<Tracked> jobs;     ///< in the order in which they became known
    std::optional<Intent> intent;  ///< at most one is open
    int failures{0};               ///< submissions and jobs that failed in a row
    std::optional<Time> retry_at;  ///< no new job before
    std::string failure;           ///< the last one, in words
    friend bool operator==(SiteState const&, SiteState const&) = default;
};

[[nodiscard]] json::Value to_json(SiteState const& state);
/// What to_json wrote; `data` for anything else.
[[nodiscard]] Result<SiteState> read_site_state(json::Value const& value, std::string const& where);

}  // namespace curtail::plan
