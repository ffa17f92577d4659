// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <thread>

namespace curtail::test {

/// Looks again and again until `condition` holds; false after `limit`. For what another process
/// does.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition,
                              std::chrono::milliseconds limit = std::chrono::seconds(10))
{
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

}  // namespace curtail::test
