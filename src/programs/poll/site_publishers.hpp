// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "base/core/log.hpp"
#include "base/core/periodic_task.hpp"
#include "run/config/run.hpp"

namespace curtail::programs {

/// Publishes, in the run's store, what the poller logs about its sites, and what their trainers
/// and evaluators have left unpublished. Each site has a thread of its own, so no site waits for
/// another, and the poller waits for none.
class SitePublishers {
  public:
    SitePublishers(config::Run const& run, std::vector<config::Site const*> const& sites,
                   Log const& log);

    /// Publishes the last lines. Takes no longer than `budget`; what is left then is published by
    /// the next poller.
    void finish(Millis budget);

  private:
    std::vector<std::unique_ptr<PeriodicTask>> publishers_;
};

}  // namespace curtail::programs
