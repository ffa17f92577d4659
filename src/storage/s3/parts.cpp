// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/parts.hpp"

#include <algorithm>
#include <system_error>

namespace curtail::s3 {
namespace {

// The parts that are left, and how the work on them has ended.
class Progress {
  public:
    explicit Progress(std::size_t count) : count_(count) {}

    // Asked to stop as soon as the work on any part has failed.
    [[nodiscard]] std::stop_source const& stop() const { return stop_; }
    // The next part; empty if there is none, or after a stop request.
    std::optional<std::size_t> take()
    {
        std::lock_guard const guard(mutex_);
        if (stop_.stop_requested() || next_ == count_) return std::nullopt;
        return next_++;
    }
    void failed(Error error)
    {
        std::lock_guard const guard(mutex_);
        if (!has_failed()) error_ = std::move(error);
        stop_.request_stop();
    }
    void failed(std::exception_ptr exception)
    {
        std::lock_guard const guard(mutex_);
        if (!has_failed()) exception_ = std::move(exception);
        stop_.request_stop();
    }
    // How the work has ended, once no thread works.
    Result<void> result() const
    {
        if (exception_) std::rethrow_exception(exception_);
        if (error_) return tl::unexpected(*error_);
        if (next_ == count_) return {};
        return fail(ExitCode::temporary, "cannot transfer an object",
                    "the operation was cancelled");
    }

  private:
    [[nodiscard]] bool has_failed() const { return error_ || exception_; }

    std::size_t count_;
    std::stop_source stop_;
    std::mutex mutex_;
    std::size_t next_{0};
    std::optional<Error> error_;
    std::exception_ptr exception_;
};

}  // namespace

std::size_t part_size(std::size_t object_size, std::size_t wanted)
{
    return std::max(wanted, (object_size + most_parts - 1) / most_parts);
}

Result<void> start_threads(std::vector<std::jthread>& threads, int count,
                           std::function<void(int number)> const& body)
{
    threads.reserve(static_cast<std::size_t>(count));
    try {
        for (int number = 0; number < count; ++number) threads.emplace_back(body, number);
    } catch (std::system_error const& refused) {
        return fail(ExitCode::temporary, "cannot transfer an object",
                    std::string("cannot start a thread: ") + refused.what());
    }
    return {};
}

Result<void> for_each_part(
    Session& session, std::size_t count, int parallel, CallLimits const& call,
    std::function<Result<void>(std::size_t part, CallLimits const& call)> const& work)
{
    Progress progress(count);
    std::stop_callback const forward(call.cancel,
                                     [stop = progress.stop()]() mutable { stop.request_stop(); });
    CallLimits const inner{progress.stop().get_token(), call.until};

    // After a SlowDown, the workers with the highest numbers end.
    auto const run = [&](int worker) {
        try {
            while (worker < session.parallelism(parallel)) {
                auto const part = progress.take();
                if (!part) return;
                if (auto const done = work(*part, inner); !done) progress.failed(done.error());
            }
        } catch (...) {
            progress.failed(std::current_exception());
        }
    };
    auto const others = std::min(std::max<std::size_t>(count, 1),
                                 static_cast<std::size_t>(session.parallelism(parallel))) -
                        1;
    {
        std::vector<std::jthread> threads;
        // This thread is the worker 0. It does all the work if no other one can start.
        (void)start_threads(threads, static_cast<int>(others),
                            [&](int number) { run(number + 1); });
        run(0);
    }
    auto result = progress.result();
    if (result) session.transferred();
    return result;
}

}  // namespace curtail::s3
