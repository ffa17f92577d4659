// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <thread>

namespace curtail::test {

/// Waits until `condition` holds, for example until another process has done something. Returns
/// false if `condition` does not hold within `limit`.
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
