// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/core/time.hpp"

namespace curtail::trainer {

/// Who asked the trainer to stop.
enum class StopCause {
    drain,       ///< SIGUSR1: the poller, or Slurm before the time limit
    terminate,   ///< SIGTERM or SIGUSR2: `scancel`, a preemption, or Slurm at the time limit
    interrupt,   ///< SIGINT: a person at a terminal
    permission,  ///< the trainer itself, because its permission has ended
    other_rank,  ///< a signal to another rank of this job
    failure      ///< the trainer itself, because it cannot continue
};
/// Returns the name that events store, such as `drain` or `other-rank`.
[[nodiscard]] char const* to_text(StopCause cause);

/// The stop requests: the signals SIGUSR1 (drain, sent by the poller), SIGTERM, SIGUSR2 (SIGTERM,
/// as curtail-forward-stop passes it on) and SIGINT.
///
/// At first, each of them ends the process at once. So a stop request needs no call to return, such
/// as MPI_Init or a read from a file server that hangs. No work is lost: there is none before
/// catch_signals(). From then on, they only set a flag, and a second SIGINT ends the process. A
/// process that does not train yet, and hangs, ends at StopPoint::hung_ends.
///
/// The job script starts the ranks with these signals blocked, so a stop request waits while
/// libraries load. The constructor unblocks the signals.
class StopSignal {
  public:
    StopSignal();
    /// From here on, the process ignores these signals, because a repeated drain must not kill
    /// a rank that is about to exit.
    ~StopSignal();
    StopSignal(StopSignal const&) = delete;
    StopSignal& operator=(StopSignal const&) = delete;

    /// Turns stop requests into a flag from here on.
    void catch_signals() const;
    /// Returns true once a stop was requested. Safe from any thread, as are all functions below.
    [[nodiscard]] bool raised() const { return raised_at().has_value(); }
    /// Returns the time of the first request, empty if there was none.
    [[nodiscard]] std::optional<MonoTime> raised_at() const;
    /// Returns who made the first request. Meaningful only if raised().
    [[nodiscard]] StopCause cause() const;
    /// Returns when the first SIGTERM or SIGUSR2 arrived, empty if none has. Slurm kills the job
    /// some time after it (KillWait).
    [[nodiscard]] std::optional<MonoTime> terminated_at() const;
    /// Requests a stop, as a signal does.
    void request(StopCause cause) const;
};

/// How long the processes of a job may live after a stop request.
struct StopTimes {
    Millis grace{};  ///< after any request: the launcher's grace
    /// After SIGTERM: Slurm's KillWait. Empty if it is unknown; then the grace counts.
    std::optional<Millis> kill_wait;
};
/// A point of a stop. Its value is the share of the time that the job has to stop, in percent. The
/// launcher kills what remains after 100 %.
enum class StopPoint {
    transfers_begin = 80,  ///< the site stores its last work; a start gives up
    round_ends = 88,       ///< the state machine ends
    process_ends = 90,     ///< snapshots, logs and waiting ranks end
    hung_ends = 95         ///< a process ends at once if it does not train yet, and hangs
};
/// Returns the time of this point. Returns an empty optional without a stop request. A SIGTERM can
/// make the result earlier.
[[nodiscard]] std::optional<MonoTime> stop_deadline(StopSignal const& stop, StopTimes const& times,
                                                    StopPoint point);

}  // namespace curtail::trainer
