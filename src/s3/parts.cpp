// SPDX-License-Identifier: Apache-2.0
#include "s3/parts.hpp"

#include <algorithm>
#include <thread>

namespace curtail::s3 {

std::size_t part_size(std::size_t object_size, std::size_t wanted)
{
    return std::max(wanted, (object_size + most_parts - 1) / most_parts);
}

Result<void> for_each_part(
    Session& session, std::size_t count, int parallel, Call const& call,
    std::function<Result<void>(std::size_t part, Call const& call)> const& work)
{
    std::stop_source stop;
    std::stop_callback const forward(call.cancel, [&] { stop.request_stop(); });
    Call const inner{stop.get_token(), call.until};
    std::mutex mutex;
    std::size_t next = 0;
    std::optional<Error> error;

    // Returns the next part for the worker of this number; `count` if it has to end.
    auto const take = [&](int worker) {
        int const allowed = session.parallelism(parallel);
        std::lock_guard const guard(mutex);
        bool const enough = worker >= allowed || error || stop.stop_requested();
        return enough ? count : std::min(next, count) == count ? count : next++;
    };
    auto const run = [&](int worker) {
        for (auto part = take(worker); part < count; part = take(worker)) {
            auto const done = work(part, inner);
            if (done) continue;
            std::lock_guard const guard(mutex);
            if (!error) error = done.error();
            stop.request_stop();
        }
    };
    auto const workers = static_cast<int>(
        std::min(count, static_cast<std::size_t>(std::max(1, session.parallelism(parallel)))));
    {
        std::vector<std::jthread> threads;
        for (int worker = 1; worker < workers; ++worker) threads.emplace_back(run, worker);
        run(0);
    }
    if (error) return tl::unexpected(*error);
    if (next < count)
        return fail(ExitCode::temporary, "cannot transfer an object",
                    "the operation was cancelled");
    session.transferred();
    return {};
}

}  // namespace curtail::s3
