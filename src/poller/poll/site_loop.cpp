// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/site_loop.hpp"

#include <algorithm>

#include "base/core/exceptions.hpp"

namespace curtail::poll {

void ErrorLog::report(Result<void> const& result)
{
    auto const text = result ? std::string() : result.error().message();
    if (text == last_) return;
    last_ = text;
    if (!result) log_.error(site_.value + ": " + text);
}

SiteLoop::SiteLoop(SitePoller& site, PollContext const& context, LoopIntervals intervals)
    : site_(site),
      context_(context),
      intervals_(intervals),
      window_errors_(context.log, site.id()),
      job_errors_(context.log, site.id())
{
}

void SiteLoop::start()
{
    window_thread_ = std::jthread([this](std::stop_token const& stop) { run_windows(stop); });
    job_thread_ = std::jthread([this](std::stop_token const& stop) { run_jobs(stop); });
}

void SiteLoop::stop_jobs(StopReason reason)
{
    window_thread_.request_stop();
    window_thread_.join();
    // A replay's last sample counts, however late its end was noticed.
    window_errors_.report(evaluate(reason).stored);
    std::lock_guard const guard(mutex_);
    stop_reason_ = reason;
    listed_since_stop_ = false;
    wake_locked();
}

bool SiteLoop::is_done() const
{
    std::lock_guard const guard(mutex_);
    return listed_since_stop_ && site_.is_idle();
}

void SiteLoop::request_stop()
{
    window_thread_.request_stop();
    job_thread_.request_stop();
}

void SiteLoop::wake_locked()
{
    list_now_ = true;
    changed_.notify_all();
}

// The permission follows the window at once: it ends even if the launcher does not answer.
WindowResult SiteLoop::evaluate(StopReason stop_reason)
{
    try {
        auto const now = context_.signal_now();
        auto result = site_.evaluate(now);
        result.stored = first_error(result.stored, site_.renew_permission(now, stop_reason));
        return result;
    } catch (std::exception const& thrown) {
        return {false, tl::unexpected(error_of(thrown))};
    }
}

// An exception of one site must not end the poller of all of them. The next try may succeed.
JobResult SiteLoop::manage_jobs(StopReason stop_reason)
{
    try {
        return site_.manage_jobs(context_.signal_now(), stop_reason, false);
    } catch (std::exception const& thrown) {
        return {false, tl::unexpected(error_of(thrown))};
    }
}

void SiteLoop::run_windows(std::stop_token const& stop)
{
    while (!stop.stop_requested()) {
        auto const result = evaluate(StopReason::none);
        window_errors_.report(result.stored);
        if (result.phase_changed) {
            std::lock_guard const guard(mutex_);
            wake_locked();
        }
        sleep_unless_stopped(stop, intervals_.windows);
    }
}

void SiteLoop::run_jobs(std::stop_token const& stop)
{
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        list_now_ = false;
        auto const reason = stop_reason_;
        lock.unlock();
        auto const result = manage_jobs(reason);
        lock.lock();
        job_errors_.report(result.stored);
        if (result.listed && reason == stop_reason_)
            listed_since_stop_ = reason != StopReason::none;
        // Short while the watch waits for the end of all jobs.
        auto const interval = stop_reason_ == StopReason::none
                                  ? intervals_.jobs
                                  : std::min(intervals_.jobs, Millis(1'000));
        changed_.wait_for(lock, stop, interval, [this] { return list_now_; });
    }
}

}  // namespace curtail::poll
