// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <thread>

#include "run/runlog/trainer_events.hpp"

namespace curtail::trainer {

/// Notices in a background thread when this process did not run for more than 2 s: somebody
/// suspended its job, stopped it or froze its cgroup. A process that computes meanwhile, however
/// busy the machine is, is not frozen.
class FreezeWatch {
  public:
    /// Calls `frozen` from the thread after each such time.
    explicit FreezeWatch(std::function<void(runlog::Frozen const&)> frozen);

  private:
    void run(std::stop_token const& stop) const;

    std::function<void(runlog::Frozen const&)> frozen_;
    std::jthread thread_;
};

}  // namespace curtail::trainer
