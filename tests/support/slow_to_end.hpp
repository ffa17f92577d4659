// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <thread>

#include "base/core/units.hpp"

namespace curtail::test {

/// Notes its end, which takes a while: who does not wait for it is noticed.
struct SlowToEnd {
    explicit SlowToEnd(std::atomic<bool>& flag) : ended(flag) {}
    ~SlowToEnd()
    {
        std::this_thread::sleep_for(Millis{100});
        ended = true;
    }
    SlowToEnd(SlowToEnd const&) = delete;
    SlowToEnd& operator=(SlowToEnd const&) = delete;
    std::atomic<bool>& ended;
};

}  // namespace curtail::test
