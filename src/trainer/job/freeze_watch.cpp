// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/freeze_watch.hpp"

#include <ctime>

#include "base/core/clock.hpp"

namespace curtail::trainer {
namespace {

constexpr Millis interval{250};
constexpr Millis least_gap{2'000};

FractionalSeconds cpu_time()
{
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return FractionalSeconds(static_cast<double>(used.tv_sec) +
                             1e-9 * static_cast<double>(used.tv_nsec));
}

}  // namespace

FreezeWatch::FreezeWatch(std::function<void(runlog::Frozen const&)> frozen)
    : frozen_(std::move(frozen)), thread_([this](std::stop_token const& stop) { run(stop); })
{
}

void FreezeWatch::run(std::stop_token const& stop) const
{
    // A thread that no CPU was free for waited, too; but then the process has used CPU time.
    constexpr double least_share = 0.05;
    auto before = monotonic_now();
    auto used = cpu_time();
    while (!stop.stop_requested()) {
        sleep_unless_stopped(stop, interval);
        auto const now = monotonic_now();
        auto const used_now = cpu_time();
        auto const gap = now - before - interval;
        bool const computed = used_now - used > least_share * FractionalSeconds(gap);
        if (gap > least_gap && !computed && !stop.stop_requested()) {
            auto const end = SystemClock{}.now();
            frozen_({end - gap, end});
        }
        before = now;
        used = used_now;
    }
}

}  // namespace curtail::trainer
