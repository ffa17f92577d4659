// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Event.h>

#include <chrono>
#include <memory>

#include "base/core/time.hpp"

namespace curtail::trainer {

/// A point in the work that a thread has enqueued on a device. On a CPU, all work before it is
/// done. Copies are the same point.
class DeviceMark {
  public:
    /// Marks the end of the work that this thread has enqueued on `device` so far.
    [[nodiscard]] static DeviceMark here(c10::Device device);
    /// True if the work before the mark is done. Does not wait.
    [[nodiscard]] bool reached() const;
    /// Returns the time from `earlier` to this mark, by the device's clock. Both must be reached
    /// and be on one device.
    [[nodiscard]] FractionalSeconds since(DeviceMark const& earlier) const;

  private:
    std::chrono::steady_clock::time_point at_{};
    std::shared_ptr<c10::Event const> event_;  ///< null on a CPU
};

}  // namespace curtail::trainer
