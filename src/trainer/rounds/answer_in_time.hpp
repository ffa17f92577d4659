// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "base/core/abandonable.hpp"
#include "base/core/call_limits.hpp"
#include "base/core/result.hpp"

namespace curtail::trainer {

/// Returns until when a stopping job may wait for the store. Empty: nothing asks it to stop.
using StopDeadline = std::function<std::optional<MonoTime>()>;

/// How long a starting site waits for the answer to one read of a record.
inline constexpr Millis start_read_limit{30'000};

/// Runs `work` in a thread of its own and returns its result, or throws its exception. If there is
/// none after `limit`, or at the time that `stop_at` returns, cancels the CallLimits of `work`. If
/// `work` does not end within a second then, abandons its thread (base/core/abandonable.hpp) and
/// fails with `temporary`. So `work` must own all that it uses. `stop_at` is called again and again
/// while this function waits. It may throw, which abandons the thread too.
template <class T>
[[nodiscard]] Result<T> answer_in_time(Millis limit, StopDeadline const& stop_at,
                                       std::function<Result<T>(CallLimits const&)> work)
{
    constexpr Millis interval{50};
    constexpr Millis for_cancellation{1'000};
    auto const until = monotonic_now() + limit;
    std::stop_source stop;
    auto task = std::make_shared<std::packaged_task<Result<T>()>>(
        [work = std::move(work), call = CallLimits{stop.get_token(), until}] {
            return work(call);
        });
    auto answer = task->get_future();
    AbandonableThreads thread;
    if (!thread.start([task = std::move(task)] { (*task)(); }))
        return fail(ExitCode::temporary, "cannot ask the store",
                    "this process cannot start a thread");
    auto const is_over = [&] {
        auto const end = stop_at();
        return monotonic_now() >= (end ? std::min(*end, until) : until);
    };
    while (!thread.wait(monotonic_now() + interval) && !is_over()) {}
    stop.request_stop();
    if (!thread.wait(monotonic_now() + for_cancellation))
        return fail(ExitCode::temporary, "the store does not answer",
                    stop_at() ? "no answer before the job must stop"
                              : "no answer within " + format_duration(limit),
                    "check the store's file server or network, then start again");
    return answer.get();
}

}  // namespace curtail::trainer
