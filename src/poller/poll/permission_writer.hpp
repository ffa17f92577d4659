// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <mutex>
#include <optional>

#include "poller/plan/decide.hpp"
#include "poller/poll/site_record.hpp"
#include "run/permission/issue.hpp"

namespace curtail::poll {

/// A moment, on both clocks.
struct Moment {
    Time real;
    Time signal;
    double speed{1};  ///< seconds of the signal's clock per real second
};

/// Returns what the poller wants for a site's jobs, as the permission states it. `window` is the
/// record after the evaluation at `now`.
[[nodiscard]] permission::Verdict verdict_on(plan::DesiredState const& desired,
                                             WindowRecord const& window, Millis close_delay,
                                             Moment const& now);

/// Writes the permission of one site. The file is outside the poller's own state, so that jobs stop
/// even if that state is lost. Thread-safe.
class PermissionWriter {
  public:
    /// Reads the present permission from the site's folder. Ignores it if it is unusable.
    PermissionWriter(std::filesystem::path site_folder, RunId run, SiteId site,
                     permission::IssuePolicy policy);
    /// Writes the permission for `verdict` unless the present one may stay (permission::renew())
    /// and the file still has it.
    [[nodiscard]] Result<void> update(permission::Verdict const& verdict, Time real_now);
    /// Returns when the last permission ended that nobody had renewed in time, if this object has
    /// found one.
    [[nodiscard]] std::optional<Time> lapsed() const;

  private:
    std::filesystem::path site_folder_;
    RunId run_;
    SiteId site_;
    permission::IssuePolicy policy_;
    mutable std::mutex mutex_;  ///< guards the file and the members below
    std::optional<Time> lapsed_;
    std::optional<permission::Permission> present_;
};

}  // namespace curtail::poll
