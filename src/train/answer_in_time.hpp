// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/call.hpp"
#include "core/result.hpp"

namespace curtail::train {

/// Returns until when a stopping job may wait for the store. Empty: nothing asks it to stop.
using StopDeadline = std::function<std::optional<MonoTime>()>;

/// How long a starting site waits for the answer to one read of a record.
inline constexpr Millis start_read_limit{30'000};

/// Runs `work` in a thread of its own and returns its result, or throws its exception. If there is
/// none after `limit`, or at the time that `stop_at` returns, cancels the Call of `work`. If `work`
/// does not end within a second then, abandons its thread and fails with `temporary`. So `work`
/// must own all that it uses, and the program must end without exit handlers
/// (apps::end_at_once()). `stop_at` is called again and again while this function waits. It may
/// throw, which abandons the thread too.
template <class T>
[[nodiscard]] Result<T> answer_in_time(Millis limit, StopDeadline const& stop_at,
                                       std::function<Result<T>(Call const&)> work)
{
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::optional<Result<T>> result;
        std::exception_ptr broken;
        [[nodiscard]] bool has_ended() const { return result || broken; }
    };
    constexpr Millis interval{50};
    constexpr Millis for_cancellation{1'000};
    auto const shared = std::make_shared<Shared>();
    auto const until = monotonic_now() + limit;
    std::stop_source stop;
    std::thread([shared, work = std::move(work), call = Call{stop.get_token(), until}] {
        std::optional<Result<T>> result;
        std::exception_ptr broken;
        try {
            result = work(call);
        } catch (...) {
            broken = std::current_exception();
        }
        std::lock_guard const guard(shared->mutex);
        shared->result = std::move(result);
        shared->broken = broken;
        shared->changed.notify_all();
    }).detach();
    auto const is_over = [&] {
        auto const end = stop_at();
        return monotonic_now() >= (end ? std::min(*end, until) : until);
    };
    std::unique_lock lock(shared->mutex);
    auto const ended = [&] { return shared->has_ended(); };
    while (!shared->changed.wait_for(lock, interval, ended) && !is_over()) {}
    stop.request_stop();
    if (!shared->changed.wait_for(lock, for_cancellation, ended))
        return fail(ExitCode::temporary, "the store does not answer",
                    stop_at() ? "no answer before the job must stop"
                              : "no answer within " + format_duration(limit),
                    "check the store's file server or network, then start again");
    if (shared->broken) std::rethrow_exception(shared->broken);
    return std::move(*shared->result);
}

}  // namespace curtail::train
