// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace curtail::chain {

/// Calls `act` with 0, 1, ... `count` - 1 and returns when all calls have returned. Uses up to
/// eight threads if there are at least `worth_a_thread` calls for each: enough to hide the latency
/// of a store. `act` must be thread-safe. If calls throw, rethrows one of their exceptions.
void in_parallel(std::size_t count, std::size_t worth_a_thread,
                 std::function<void(std::size_t)> const& act);

}  // namespace curtail::chain
