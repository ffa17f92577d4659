// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "trainer/job/leader_context.hpp"
#include "trainer/job/site_ranks.hpp"
#include "trainer/rounds/snapshot_gate.hpp"

namespace curtail::trainer {

/// The leader's control of the snapshots that all ranks save. At most one is being written. The
/// constructor's arguments must outlive the object.
class LeaderSnapshots {
  public:
    /// `gate` may be null. Otherwise, it is closed while a snapshot is being written.
    LeaderSnapshots(SiteRanks& ranks, LeaderContext const& context, SnapshotGate* gate);

    /// Closes the gate, because the next call is begin().
    void announce() { set_gate(SnapshotGate::State::announced); }
    /// Begins a snapshot of the current state. Does nothing while one is being written, or if this
    /// process has made no step since the last one. A failure is logged and becomes an event. The
    /// gate is then closed if a snapshot is being written, and open otherwise.
    void begin(Position const& position, std::optional<std::string> const& training_id);
    /// Counts a step of this process: the next begin() has something to save.
    void step() { changed_ = true; }
    /// Notices the end of the snapshot that is being written. Returns at once. A failure is logged
    /// and becomes an event.
    void poll();
    /// Waits for the snapshot that is being written. Fails as this snapshot does. After a stop
    /// request, does not wait longer than nine tenths of the time that the job has to stop.
    [[nodiscard]] Result<void> finish();
    /// Logs the failure of a snapshot and writes an event.
    void report(Error const& error);

  private:
    void set_gate(SnapshotGate::State state);
    void ended(Result<void> const& result);

    SiteRanks& ranks_;
    LeaderContext const& context_;
    SnapshotGate* gate_;
    SnapshotNumbers numbers_;
    std::string last_failure_;  ///< since the last whole snapshot
    bool writing_{false};
    bool changed_{false};  ///< this process has made a step since the last begin()
    MonoTime next_poll_{};
};

}  // namespace curtail::trainer
