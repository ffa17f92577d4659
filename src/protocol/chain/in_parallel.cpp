// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace curtail::chain {

void in_parallel(std::size_t count, std::size_t worth_a_thread,
                 std::function<void(std::size_t)> const& act)
{
    constexpr std::size_t most_threads = 8;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr thrown;
    auto const work = [&] {
        try {
            for (auto i = next++; i < count; i = next++) act(i);
        } catch (...) {
            std::lock_guard const guard(mutex);
            thrown = std::current_exception();
        }
    };
    std::vector<std::jthread> threads;
    auto const helpers = std::min(count / worth_a_thread, most_threads - 1);
    try {
        for (std::size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
    } catch (std::system_error const&) {
        // The system has no more threads: this one does the work of the missing ones.
    }
    work();
    threads.clear();
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace curtail::chain
