// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace curtail::test {

/// Counts the bytes of the tensors that this thread creates on the CPU. Tensors from before its
/// construction do not count.
class Allocations {
  public:
    /// Bytes of the tensors that exist now.
    [[nodiscard]] std::int64_t bytes() const { return counter_->now; }
    /// The greatest number of bytes at once since construction or the last call of forget_peak().
    [[nodiscard]] std::int64_t peak() const { return counter_->peak; }
    void forget_peak() { counter_->peak = counter_->now; }

  private:
    struct Counter final : c10::MemoryReportingInfoBase {
        void reportMemoryUsage(void* /*memory*/, std::int64_t size, std::size_t /*allocated*/,
                               std::size_t /*reserved*/, c10::Device /*device*/) override
        {
            now += size;
            peak = std::max(peak, now);
        }
        [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
        std::int64_t now{0};
        std::int64_t peak{0};
    };
    std::shared_ptr<Counter> counter_{std::make_shared<Counter>()};
    c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

}  // namespace curtail::test
