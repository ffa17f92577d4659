// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>

#include "base/core/ids.hpp"
#include "poller/plan/state.hpp"
#include "poller/plan/update.hpp"
#include "run/windows/detector.hpp"

namespace curtail::poll {

/// What the poller remembers about one site's window from one poll to the next.
struct WindowRecord {
    windows::WindowState state;
    std::optional<Time> evaluated_until;  ///< end of the last evaluation, on the signal's clock;
                                          ///< empty before the first evaluation
    std::optional<WindowId> open;         ///< the window in which jobs may run; empty
                                          ///< in the phase `closed`
    /// The end of the last period in which the intensity was above close_above, on the signal's
    /// clock; empty if there was none.
    std::optional<Time> last_above{};
    std::optional<Time> above_before_open{};  ///< `last_above` when `open` opened
    std::optional<Time> polled{};             ///< real time of the last evaluation
    Millis warned_period{};  ///< the longest period of the signal that the poller has warned about
    friend bool operator==(WindowRecord const&, WindowRecord const&) = default;
};

/// A hold that the poller itself put on a site.
struct AutomaticHold {
    plan::HoldRequest request;
    Time since;        ///< real time
    Time signal_time;  ///< the same moment on the signal's clock
    friend bool operator==(AutomaticHold const&, AutomaticHold const&) = default;
};

/// What the poller remembers about the holds of one site.
struct HoldRecord {
    std::optional<AutomaticHold> automatic;
    /// Serial of the newest permission::Hold that the poller has applied; stored as `decision`.
    std::int64_t applied_serial{0};
    std::string operators{};  ///< the hold of the centre's operators that the poller has noted
    friend bool operator==(HoldRecord const&, HoldRecord const&) = default;
};

/// What the poller remembers about one site from one poll to the next.
struct SiteRecord {
    WindowRecord window;
    plan::SiteState jobs;
    HoldRecord holds;
    std::string configuration{};  ///< digest of the settings that were logged last
    /// When the poller last asked for the accounts of the site's jobs, in real time.
    std::optional<Time> accounted{};
    bool accounted_at_end{false};  ///< it has asked after the run was complete
    /// After a loss of state.json: for each type of event, the latest time on the signal's clock
    /// that an event of this site has in events.jsonl. These events are not written again.
    std::map<std::string, Time> written_until;
    friend bool operator==(SiteRecord const&, SiteRecord const&) = default;
};

/// Returns the name that stored records use: `failures` or `cancel`.
[[nodiscard]] char const* to_text(plan::HoldRequest::Cause cause);
/// Returns the cause with the stored name `text`, or an empty optional if there is none.
[[nodiscard]] std::optional<plan::HoldRequest::Cause> parse_cause(std::string_view text);

/// Returns a JSON object with the keys `window`, `evaluated_until`, `polled`, `open_window`,
/// `last_above`, `above_before_open`, `warned_period_s`, `jobs`, `hold`, `decision`, `operators`
/// and `written_until`.
[[nodiscard]] json::Object to_json(SiteRecord const& site);
/// Reads what to_json() returns. Errors are recorded in `r`. `where` is the name of the file, for
/// error messages.
[[nodiscard]] SiteRecord read_site_record(json::ObjectReader& r, std::string const& where);

}  // namespace curtail::poll
