// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "run/permission/permission.hpp"

// How the poller decides which permission to write. The functions read no clock and do no I/O.
namespace curtail::permission {

/// How often the poller polls, and how long jobs may train without it. In real time.
struct IssuePolicy {
    Millis poll_period{60'000};
    Millis lifetime{720'000};
};

/// Returns the lifetime that a site's permissions have by default: 2 x `poll_period` +
/// `close_delay`, but at least 30 s. `close_delay` is in real time.
[[nodiscard]] Millis default_lifetime(Millis poll_period, Millis close_delay);

/// What the poller wants for a site's jobs.
struct Verdict {
    bool may_train{false};
    /// While the window is closing: the real time at which it will close if the signal stays dirty.
    std::optional<Time> closes;
    std::string why;
};

/// Decides which permission to write at the real time `now`. Returns an empty optional if `present`
/// may stay. `present` is the permission that was last written, or empty if there is none.
///
/// - If jobs may train, the permission ends `policy.lifetime` from now. In a closing window,
///   it ends at most 2 x `policy.poll_period` after Verdict::closes.
/// - If jobs must not train, the permission ends at once.
/// - A permission is renewed after half a poll period, or after a quarter of its lifetime if
///   that is shorter. It is replaced at once if the verdict has changed or the new end is much
///   earlier.
[[nodiscard]] std::optional<Permission> renew(std::optional<Permission> const& present,
                                              RunId const& run, SiteId const& site,
                                              Verdict const& verdict, IssuePolicy const& policy,
                                              Time now);

/// Returns the permission to write at the real time `now`, as renew() does, even if `present` may
/// stay. Its serial is higher than that of `present`.
[[nodiscard]] Permission issue(std::optional<Permission> const& present, RunId const& run,
                               SiteId const& site, Verdict const& verdict,
                               IssuePolicy const& policy, Time now);

}  // namespace curtail::permission
