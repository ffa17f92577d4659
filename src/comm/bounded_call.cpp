// SPDX-License-Identifier: Apache-2.0
#include "comm/bounded_call.hpp"

#include <future>
#include <system_error>
#include <thread>

namespace curtail::comm {

bool returns_within(Millis limit, std::function<void()> call)
{
    std::packaged_task<void()> task(std::move(call));
    auto const done = task.get_future();
    try {
        std::thread(std::move(task)).detach();
    } catch (std::system_error const&) {
        return false;
    }
    return done.wait_for(limit) == std::future_status::ready;
}

}  // namespace curtail::comm
