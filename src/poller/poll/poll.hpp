// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.hpp"
#include "poller/poll/open_store.hpp"
#include "poller/poll/site.hpp"

// Polls all sites of a run, once (poll_once) or continuously (watch.hpp). Each site has its own
// threads, so no site waits for another.
namespace curtail::poll {

/// A run, and what is needed to poll its sites. `run` must outlive this object.
struct PollContext {
    config::Run const& run;
    std::vector<SiteParts> sites{};
    std::shared_ptr<Clock const> clock{};  ///< the signal's clock
    std::optional<Time> trace_end{};  ///< time of the trace's last sample; empty without a trace
    Log log;
    /// Where the signals come from, for the event `configuration`; empty without a source.
    json::Object source{};
    /// A warning about the run's folders; empty if there is none. It is logged only if it differs
    /// from that of the previous poll.
    std::string folder_warning{};

    /// Returns the time on the signal's clock, or `trace_end` if the clock is already later.
    [[nodiscard]] Time signal_now() const;
    /// Returns whether the signal's clock has reached `trace_end`. Returns false without a trace.
    [[nodiscard]] bool is_trace_over() const;
};

/// What a poll of all sites found out.
struct PollResult {
    std::vector<PollFindings> sites;
    std::vector<Error> errors;  ///< errors that belong to none of `sites`

    /// Returns one error for the whole poll, or an empty optional if there are no errors. The code
    /// of the returned error determines the program's exit code.
    ///
    /// Looks at `errors` first, and then at the errors of each of `sites`, in order. Chooses the
    /// first error that is not `temporary`. If all errors are `temporary`, chooses the first one.
    /// The message also names all sites that have errors.
    [[nodiscard]] std::optional<Error> error() const;
};

/// Polls every site once. Carries out the actions unless `dry_run` is set. A dry run changes
/// neither files nor jobs, and other pollers may be active meanwhile.
///
/// Without `dry_run`, fails with `temporary` if another poller of the run is active. Also fails if
/// it cannot write the poller's state; even then it carries out the decisions to stop jobs.
[[nodiscard]] Result<PollResult> poll_once(PollContext context, bool dry_run);

using SitePollers = std::vector<std::unique_ptr<SitePoller>>;
/// Makes a SitePoller for each element of `context.sites`, and moves each element into its
/// SitePoller. `store` must outlive the result.
[[nodiscard]] SitePollers make_pollers(PollContext& context, StateStore& store);
/// Logs `context.folder_warning` unless the previous poll had the same one, and remembers it in
/// `store`.
void report_folder_warning(PollContext const& context, StateStore& store);
/// Logs the settings of each site if they differ from those that were logged last. Without a source
/// of signals, logs nothing.
[[nodiscard]] Result<void> record_configuration(PollContext const& context, StateStore& store);
/// Finds sites that the run's file no longer names although they have jobs. No poller manages those
/// jobs. Returns an error for each such site, and logs it as a warning.
[[nodiscard]] std::vector<Error> find_unmanaged_jobs(PollContext const& context,
                                                     StateStore const& store);
/// Collects the findings of each of `pollers`. `errors` are errors that belong to none of their
/// sites.
[[nodiscard]] PollResult make_result(SitePollers const& pollers, std::vector<Error> errors);

}  // namespace curtail::poll
