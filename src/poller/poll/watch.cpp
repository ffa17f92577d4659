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
    return std::all_of(loops.begin(), loops.end(),
                       [](auto const& loop) { return loop->is_done(); });
}

std::string names_of_unfinished(SiteLoops const& loops)
{
    std::string names;
    for (auto const& loop : loops)
        if (!loop->is_done()) names += (names.empty() ? "" : ", ") + loop->site().id().value;
    return names;
}

void wait_for_end(PollContext const& context, WatchOptions const& options, StopRequest const& stop,
                  Time begin)
{
    while (stop.level() == 0 && !context.is_trace_over()) {
        if (context.trace_end && options.progress)
            options.progress(seconds_between(begin, context.signal_now()),
                             seconds_between(begin, *context.trace_end));
        std::this_thread::sleep_for(Millis(50));
    }
}

// Drains the jobs of all sites and waits for their end. Cancels them at a second stop request or
// when the time is up, and gives up some time after that.
class Drain {
  public:
    Drain(SiteLoops const& loops, PollContext const& context, WatchOptions const& options,
          StopRequest const& stop)
        : loops_(loops),
          context_(context),
          options_(options),
          stop_(stop),
          cancel_level_(std::max(stop.level(), 1) + 1)
    {
    }

    Result<void> run(StopReason reason)
    {
        for (auto const& loop : loops_) loop->stop_jobs(reason);
        auto end = monotonic_now() + longest_grace() + options_.patience;
        while (!all_done(loops_) && monotonic_now() < end) {
            if (stop_.level() >= cancel_level_) cancel("second stop request: cancelling all jobs");
            std::this_thread::sleep_for(Millis(20));
            if (cancelled_ || monotonic_now() < end || all_done(loops_)) continue;
            cancel("jobs did not end in time: cancelling them");
            end += std::min(options_.patience, cancel_patience);
        }
        return all_done(loops_) ? Result<void>{} : gave_up();
    }

  private:
    [[nodiscard]] Millis longest_grace() const
    {
        Millis grace{0};
        for (auto const& site : context_.run.sites) grace = std::max(grace, site.launcher.grace);
        return grace;
    }
    void cancel(char const* reason)
    {
        if (cancelled_) return;
        context_.log.warning(reason);
        for (auto const& loop : loops_) loop->site().skip_grace();
        cancelled_ = true;
    }
    [[nodiscard]] tl::unexpected<Error> gave_up() const
    {
        return fail(ExitCode::temporary, "cannot stop all jobs of run " + context_.run.run.value,
                    "jobs may be left at " + names_of_unfinished(loops_),
                    "see `curtail-poll " + context_.run.file.string() +
                        " --dry-run --explain`, and run the poller again");
    }

    SiteLoops const& loops_;
    PollContext const& context_;
    WatchOptions const& options_;
    StopRequest const& stop_;
    int cancel_level_;
    bool cancelled_{false};
};

SiteLoops start_loops(SitePollers const& pollers, PollContext const& context,
                      LoopIntervals const& intervals)
{
    SiteLoops loops;
    for (auto const& poller : pollers)
        loops.push_back(std::make_unique<SiteLoop>(*poller, context, intervals));
    for (auto const& loop : loops) loop->start();
    return loops;
}

Result<void> drain_if_wanted(SiteLoops const& loops, PollContext const& context,
                             WatchOptions const& options, StopRequest const& stop, bool stopped)
{
    if (stopped && !options.drain_on_exit) return {};
    context.log.info(stopped ? "stop requested: draining all jobs (repeat it to cancel them)"
                             : "the trace has ended: draining all jobs");
    return Drain(loops, context, options, stop)
        .run(stopped ? StopReason::user_request : StopReason::trace_over);
}

// Runs all sites until the end of the watch; returns whether a request stopped it.
Result<bool> run_loops(SitePollers const& pollers, PollContext const& context,
                       WatchOptions const& options, StopRequest const& stop)
{
    auto const loops = start_loops(pollers, context, options.intervals);
    wait_for_end(context, options, stop, context.signal_now());
    bool const stopped = stop.level() > 0;
    auto const drained = drain_if_wanted(loops, context, options, stop, stopped);
    for (auto const& loop : loops) loop->request_stop();
    return drained.map([stopped] { return stopped; });
}

}  // namespace

Result<PollResult> watch(PollContext context, WatchOptions const& options, StopRequest const& stop)
{
    auto const opened = open_store(context.run, Access::write, SystemClock{}.now());
    if (!opened) return tl::unexpected(opened.error());
    report_folder_warning(context, **opened);
    auto errors = find_unmanaged_jobs(context, **opened);
    auto const pollers = make_pollers(context, **opened);
    auto const stopped = run_loops(pollers, context, options, stop);
    if (auto saved = (*opened)->save(); !saved) return tl::unexpected(saved.error());
    if (!stopped) return tl::unexpected(stopped.error());
    if (*stopped && context.trace_end)
        return fail(ExitCode::interrupted, "stopped before the end of the trace", "", "");
    return make_result(pollers, std::move(errors));
}

}  // namespace curtail::poll
