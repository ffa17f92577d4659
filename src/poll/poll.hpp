// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "poll/open_store.hpp"
#include "poll/site.hpp"

// Polls all sites of a run, once (poll_once) or continuously (watch.hpp). Each site has its own
// threads, so no site waits for another.
namespace curtail::poll {

/// A run, and what is needed to poll its sites. `run` must outlive this object.
struct PollContext {
    config::Run const& run;
    std::vector<SiteParts> sites;
    std::shared_ptr<Clock const> clock;  ///< the signal's clock
    std::optional<Time> trace_end;       ///< in a replay: time of the trace's last sample
    Log log;

    /// Returns the time on the signal's clock. In a replay this is at most `trace_end`.
    [[nodiscard]] Time signal_now() const;
    /// Returns whether a replay has reached the last sample of its trace.
    [[nodiscard]] bool is_trace_over() const;
};

/// What a poll of all sites found out.
struct PollResult {
    std::vector<SiteStatus> sites;
    std::vector<Error> errors;  ///< errors that belong to none of `sites`

    /// Returns one error for the whole poll. Its code determines the program's exit code. It is the
    /// first error that is not `temporary`; if all are `temporary`, it is the first error. The
    /// message also names all sites that have errors. Returns an empty optional if there are no
    /// errors.
    [[nodiscard]] std::optional<Error> error() const;
};

/// Polls every site once. Carries out the actions unless `dry_run` is set. A dry run changes
/// neither files nor jobs, and other pollers may be active meanwhile.
///
/// Without `dry_run`, fails with `temporary` if another poller of the run is active. Also fails if
/// it cannot write the poller's state; even then it carries out the decisions to stop jobs.
[[nodiscard]] Result<PollResult> poll_once(PollContext context, bool dry_run);

using SitePollers = std::vector<std::unique_ptr<SitePoller>>;
/// Makes a SitePoller for each site, and moves the parts of the sites out of `context`.
/// `opened.store` must outlive the pollers.
[[nodiscard]] SitePollers make_pollers(PollContext& context, OpenedStore const& opened);
/// Finds sites that the run's file no longer names although they have jobs. No poller manages those
/// jobs. Returns an error for each such site, and logs it as a warning.
[[nodiscard]] std::vector<Error> find_unmanaged_jobs(PollContext const& context,
                                                     StateStore const& store);
/// Collects the status of all sites. `errors` are errors that belong to none of these sites.
[[nodiscard]] PollResult make_result(SitePollers const& pollers, std::vector<Error> errors);

}  // namespace curtail::poll
