// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/watch.hpp"

#include <algorithm>
#include <thread>

namespace curtail::poll {
namespace {

using SiteLoops = std::vector<std::unique_ptr<SiteLoop>>;

// How long a cancel may take after all patience is over.
constexpr Millis cancel_patience{15'000};

bool all_done(SiteLoops const& loops)
{
    return std::ranges::all_of(loops, [](auto const& loop) { return loop->is_done(); });
}

std::string names_of_unfinished(SiteLoops const& loops)
{
    std::string names;
    for (auto const& loop : loops)
        if (!loop->is_done()) names += (names.empty() ? "" : ", ") + loop->site().id().value;
    return names;
}

void wait_for_end(PollContext const& context, WatchOptions const& options,
                  StopRequest const& stop_request, StateStore const& store, Time begin)
{
    while (stop_request.level() == 0 && !context.is_trace_over() && !store.has_lost_lock()) {
        if (context.trace_end && options.progress)
            options.progress(seconds_between(begin, context.signal_now()),
                             seconds_between(begin, *context.trace_end));
        std::this_thread::sleep_for(Millis(50));
    }
}

// Drains the jobs of all sites and waits for their end. Cancels them at a second stop request or
// when the time is up, and gives up some time after that.
Result<void> drain(SiteLoops const& loops, PollContext const& context, WatchOptions const& options,
                   StopRequest const& stop_request, StopReason reason)
{
    int const cancel_level = std::max(stop_request.level(), 1) + 1;
    bool cancelled = false;
    auto const cancel = [&](char const* why) {
        if (cancelled) return;
        context.log.warning(why);
        for (auto const& loop : loops) loop->site().skip_grace();
        cancelled = true;
    };
    for (auto const& loop : loops) loop->stop_jobs(reason);
    Millis grace{0};
    for (auto const& site : context.run.sites) grace = std::max(grace, site.launch.grace);
    auto end = monotonic_now() + grace + options.patience;
    while (!all_done(loops) && monotonic_now() < end) {
        if (stop_request.level() >= cancel_level)
            cancel("second stop request: cancelling all jobs");
        std::this_thread::sleep_for(Millis(20));
        if (cancelled || monotonic_now() < end || all_done(loops)) continue;
        cancel("jobs did not end in time: cancelling them");
        end += std::min(options.patience, cancel_patience);
    }
    if (all_done(loops)) return {};
    return fail(ExitCode::temporary, "cannot stop all jobs of run " + context.run.run.value,
                "jobs may be left at " + names_of_unfinished(loops),
                "see `curtail-poll " + context.run.file.string() +
                    " --dry-run --explain`, and run the poller again");
}

SiteLoops start_loops(SitePollers const& pollers, PollContext const& context,
                      LoopIntervals const& intervals)
{
    SiteLoops loops;
    for (auto const& poller : pollers)
        loops.push_back(std::make_unique<SiteLoop>(*poller, context, intervals));
    for (auto const& loop : loops) loop->start();
    return loops;
}

// Runs all sites until the end of the watch. Returns whether a request stopped it.
Result<bool> run_loops(SitePollers const& pollers, PollContext const& context,
                       WatchOptions const& options, StopRequest const& stop_request,
                       StateStore const& store)
{
    auto const loops = start_loops(pollers, context, options.intervals);
    wait_for_end(context, options, stop_request, store, context.signal_now());
    bool const stopped = stop_request.level() > 0;
    Result<void> drained;
    if (store.has_lost_lock()) {
        drained = store.confirm_lock();
    } else if (!stopped || options.drain_on_exit) {
        context.log.info(stopped ? "stop requested: draining all jobs (repeat it to cancel them)"
                                 : "the trace has ended: draining all jobs");
        drained = drain(loops, context, options, stop_request,
                        stopped ? StopReason::user_request : StopReason::trace_over);
    }
    for (auto const& loop : loops) loop->request_stop();
    return drained.map([stopped] { return stopped; });
}

}  // namespace

Result<PollResult> watch(PollContext context, WatchOptions const& options,
                         StopRequest const& stop_request)
{
    auto const opened = open_store(context.run, Access::write, SystemClock{}.now());
    if (!opened) return tl::unexpected(opened.error());
    report_folder_warning(context, **opened);
    (void)record_configuration(context, **opened);  // the next save reports an error
    auto errors = find_unmanaged_jobs(context, **opened);
    auto const pollers = make_pollers(context, **opened);
    auto const stopped = run_loops(pollers, context, options, stop_request, **opened);
    if (!stopped) return tl::unexpected(stopped.error());
    if (auto saved = (*opened)->save(); !saved) return tl::unexpected(saved.error());
    if (*stopped && context.trace_end)
        return fail(ExitCode::interrupted, "stopped before the end of the trace", "", "");
    return make_result(pollers, std::move(errors));
}

}  // namespace curtail::poll
