// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/log.hpp"
#include "base/core/periodic_task.hpp"
#include "run/config/run.hpp"
#include "trainer/job/stop_signal.hpp"

namespace curtail::trainer {

/// Publishes the trainer's events and metrics in the run's store, in a background thread. Begins
/// with what earlier trainers of the site have left. Training never waits for it.
class LogPublisher {
  public:
    /// The trainer must have the lock of the site's folder.
    LogPublisher(config::Run const& run, config::Site const& site, Log const& log);

    /// Publishes the last lines. After a stop request, takes no longer than nine tenths of the time
    /// that the job has to stop, and never longer than 10 s. What is left then is published by the
    /// next trainer or by the poller.
    void finish(StopSignal const& stop, StopTimes const& times);

  private:
    Log log_;
    PeriodicTask task_;
};

}  // namespace curtail::trainer
