// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <thread>

#include "base/core/units.hpp"

namespace curtail::test {

/// Sets a flag at the end of its destructor, which takes 0.1 s. A test that reads the flag sees
/// whether the code under test has waited for the destructor.
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
