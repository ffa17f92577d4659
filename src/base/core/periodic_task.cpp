// SPDX-License-Identifier: Apache-2.0
#include "base/core/periodic_task.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>

namespace curtail {
namespace {

// A thread that ends the process while another one uses OpenSSL may crash. So a cancelled transfer
// gets this time to end.
constexpr Millis patience{1'500};

}  // namespace

// What the thread shares with the owner. The last of them deletes it.
struct PeriodicTask::Shared {
    Shared(Work what, Millis pause, Millis longest)
        : work(std::move(what)), interval(pause), limit(longest)
    {
    }
    Work work;
    Millis interval;
    Millis limit;
    std::stop_source stop;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<MonoTime> last_until;  // the next run is the last one, and ends at this time
    bool cancelled{false};
    bool soon{false};  // the next run does not wait for the interval
};

PeriodicTask::PeriodicTask(Work work, Millis interval, Millis limit)
    : shared_(std::make_shared<Shared>(std::move(work), interval, limit))
{
    if (!thread_.start([shared = shared_] { run(*shared); }))
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
}

void PeriodicTask::run(Shared& shared)
{
    std::unique_lock lock(shared.mutex);
    while (!shared.cancelled) {
        auto const last = shared.last_until;
        shared.soon = false;
        auto const until = monotonic_now() + shared.limit;
        CallLimits const call{shared.stop.get_token(), last ? std::min(*last, until) : until};
        lock.unlock();
        shared.work(call);
        lock.lock();
        if (last) break;
        shared.changed.wait_for(lock, shared.interval, [&] {
            return shared.cancelled || shared.soon || shared.last_until.has_value();
        });
    }
}

void PeriodicTask::run_soon()
{
    std::lock_guard const guard(shared_->mutex);
    shared_->soon = true;
    shared_->changed.notify_all();
}

void PeriodicTask::begin_finish(MonoTime until)
{
    constexpr Millis longest_margin{1'000};
    auto const margin = std::clamp((until - monotonic_now()) / 5, Millis{0}, longest_margin);
    std::lock_guard const guard(shared_->mutex);
    if (!shared_->last_until) shared_->last_until = until - margin;
    shared_->changed.notify_all();
}

bool PeriodicTask::finish(MonoTime until)
{
    begin_finish(until);
    if (thread_.wait(until)) return true;
    is_late_ = true;
    shared_->stop.request_stop();
    return false;
}

PeriodicTask::~PeriodicTask()
{
    shared_->stop.request_stop();
    {
        std::lock_guard const guard(shared_->mutex);
        shared_->cancelled = true;
        shared_->changed.notify_all();
    }
    (void)thread_.wait(monotonic_now() + (is_late_ ? Millis{0} : patience));
}

}  // namespace curtail
