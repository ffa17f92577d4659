// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "poll/site.hpp"

/// Polls all sites of a run, once (here) or continuously (watch.hpp). Sites do not wait for each
/// other: each has its own threads.
namespace curtail::poll {

/// A run and what its sites need to be polled.
struct PollContext {
    config::Run const& run;
    std::vector<SiteParts> sites;
    std::shared_ptr<Clock const> clock;  ///< of the signals
    std::optional<Time> trace_end;       ///< of a replay: time of its last sample
    Log log;

    /// Time on the signals' clock; that of a replay stops at its last sample.
    [[nodiscard]] Time signal_now() const;
    [[nodiscard]] bool is_trace_over() const;
};

struct PollResult {
    std::vector<SiteStatus> sites;
    std::vector<Error> errors;  ///< of the run as a whole

    /// One error for the exit code that names all affected sites: the first that is not
    /// `temporary`, else the first. Empty if there is none.
    [[nodiscard]] std::optional<Error> error() const;
};

/// Polls every site once and acts. `temporary` if another poller is active. After an error of
/// writing, jobs were stopped all the same. A dry run changes nothing anywhere.
[[nodiscard]] Result<PollResult> poll_once(PollContext context, bool dry_run);

using SitePollers = std::vector<std::unique_ptr<SitePoller>>;
[[nodiscard]] SitePollers make_pollers(PollContext& context, StateStore& store);
/// Errors for jobs of sites that the run's file no longer names: no poller can reach them. Logs
/// each as a warning.
[[nodiscard]] std::vector<Error> find_unmanaged_jobs(PollContext const& context,
                                                     StateStore const& store);
[[nodiscard]] PollResult make_result(SitePollers const& pollers, std::vector<Error> errors);

}  // namespace curtail::poll
