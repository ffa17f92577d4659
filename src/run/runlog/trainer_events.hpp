// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "base/core/result.hpp"
#include "base/core/units.hpp"
#include "run/runlog/event.hpp"

// Structs for the events that a site's trainer writes. A function `to_event` makes an Event from a
// struct. A function `..._in` makes the struct from an Event. If the event has another type,
// `..._in` returns an empty optional. A function `is_...` only tests the type.
// protocol/site/notes.hpp makes and reads the events of the round protocol (`joined`, `cut`,
// `merged`, ...).
namespace curtail::runlog {

/// The value of StateChange::state when the trainer exits.
inline constexpr char const* ended_state = "ended";

/// An event: the site's state has changed.
struct StateChange {
    std::string state;  ///< new state: the name of an energy::PowerState, or `ended_state`
    std::string job;    ///< job id, from Slurm or the local launcher; may be empty
};
[[nodiscard]] Event to_event(StateChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<StateChange> state_change_in(Event const& event);

/// An event: a trainer has started.
struct TrainerStart {
    std::string job;       ///< job id, from Slurm or the local launcher; may be empty
    int ranks{0};          ///< number of ranks of the job
    json::Object build{};  ///< what `--version` prints: version, commit, compiler, ...
    json::Object gpu{};    ///< how the leader computes on a GPU (docs/gpu.md); empty on a CPU
};
[[nodiscard]] Event to_event(TrainerStart const& start, Time now, std::string site);
[[nodiscard]] std::optional<TrainerStart> trainer_start_in(Event const& event);

/// An event: the trainer is about to exit with this code.
struct TrainerExit {
    ExitCode code{ExitCode::ok};
    std::string job;    ///< job id, from Slurm or the local launcher; may be empty
    std::string cause;  ///< StopRequested::cause; empty if the trainer received no stop request
};
[[nodiscard]] Event to_event(TrainerExit const& exit, Time now, std::string site);
[[nodiscard]] std::optional<TrainerExit> trainer_exit_in(Event const& event);

/// An event: a stop was requested: by a signal, or because the permission to train has ended.
struct StopRequested {
    std::string cause;  ///< name of a trainer::StopCause, such as `drain` or `permission`
    std::string why;    ///< for `permission`: why it has ended
};
[[nodiscard]] Event to_event(StopRequested const& request, Time now, std::string site);
[[nodiscard]] bool is_stop_request(Event const& event);

/// An event: the trainer's process did not run for some time: somebody suspended the job, or
/// stopped or froze its processes.
struct Frozen {
    Time from;  ///< real time
    Time to;
};
[[nodiscard]] Event to_event(Frozen const& frozen, Time now, std::string site);
[[nodiscard]] std::optional<Frozen> frozen_in(Event const& event);

/// An event: the trainer has finished its first optimizer step.
struct FirstStep {
    std::int64_t round{0};  ///< see StepMetrics::round
    json::Object start_s;   ///< seconds of each phase since the start of the process
};
[[nodiscard]] Event to_event(FirstStep const& step, Time now, std::string site);
[[nodiscard]] bool is_first_step(Event const& event);

/// An event: the loss has been at least that of a model that knows nothing for many steps.
struct HighLoss {
    std::optional<double> loss;  ///< of the last step, in nats per token; empty: not finite
    double uniform_loss{0};      ///< ln(vocabulary)
    std::int64_t steps{0};       ///< number of these steps in a row
};
[[nodiscard]] Event to_event(HighLoss const& high, Time now, std::string site);

/// An event: the first step of a trainer with a learning rate of 0, which changes nothing.
struct ZeroRate {
    std::int64_t step{0};  ///< as StepMetrics::step
    Tokens progress;       ///< as StepMetrics::progress
    Tokens end;            ///< tokens after which the run is complete
};
[[nodiscard]] Event to_event(ZeroRate const& zero, Time now, std::string site);

/// An event: the loss or a gradient of a step was not finite, so the trainer skipped the step.
struct StepSkipped {
    std::int64_t step{0};  ///< as StepMetrics::step
    json::Value blocks;    ///< the step's blocks, as ranges
};
[[nodiscard]] Event to_event(StepSkipped const& skipped, Time now, std::string site);

/// An event: the trainer has deleted old payloads that the run does not need.
struct SweepReport {
    std::int64_t deleted{0};  ///< number of objects
    Bytes freed;
};
[[nodiscard]] Event to_event(SweepReport const& swept, Time now, std::string site);

/// An event: what a site that exchanges payloads over MPI has read from other sites since the last
/// such event.
struct PayloadsRead {
    std::int64_t round{0};  ///< see StepMetrics::round
    Bytes by_mpi;
    Bytes from_store;
    std::string why_store{};  ///< why the last of the store's payloads did not come by MPI
    friend bool operator==(PayloadsRead const&, PayloadsRead const&) = default;
};
[[nodiscard]] Event to_event(PayloadsRead const& read, Time now, std::string site);
[[nodiscard]] std::optional<PayloadsRead> payloads_read_in(Event const& event);

/// An event: the trainer could not write a snapshot. The previous one is unchanged.
struct SnapshotFailed {
    std::string why;  ///< the error's message
};
[[nodiscard]] Event to_event(SnapshotFailed const& failed, Time now, std::string site);

}  // namespace curtail::runlog
