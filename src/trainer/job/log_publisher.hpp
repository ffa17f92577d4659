// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "base/core/log.hpp"
#include "base/core/periodic_task.hpp"
#include "protocol/records/record.hpp"
#include "run/config/run.hpp"
#include "trainer/job/stop_signal.hpp"

namespace curtail::trainer {

/// Publishes the trainer's events and metrics in the run's store, in a background thread. Begins
/// with what earlier trainers of the site have left. Training never waits for it.
///
/// Nothing is published before the first publish_soon(): nobody may write to a store that has not
/// proved fit for the run.
class LogPublisher {
  public:
    /// The trainer must have the lock of the site's folder.
    LogPublisher(config::Run const& run, config::Site const& site, Log const& log);

    /// Publishes soon, and from here on also every minute. Returns at once.
    void publish_soon();
    /// Returns the newest published pieces of the site, those of the poller included, as they were
    /// after the last pass. Safe from any thread.
    [[nodiscard]] protocol::JournalHeads heads() const;
    /// Publishes the last lines, if publish_soon() has been called. After a stop request, takes no
    /// longer than nine tenths of the time that the job has to stop, and never longer than 10 s.
    /// What is left then is published by the next trainer or by the poller.
    void finish(StopSignal const& stop, StopTimes const& times);

  private:
    /// What the background thread has found. It may outlive this object.
    struct Found;
    Log log_;
    std::shared_ptr<Found> found_;
    PeriodicTask task_;
};

}  // namespace curtail::trainer
