// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/result.hpp"
#include "runlog/event.hpp"

// The events that a site's trainer writes, one struct per type. `to_event` makes an Event from the
// struct. `..._in` reads the struct back, or returns an empty optional if the event has another
// type. `is_...` only tests the type. Events of the round protocol (`joined`, `cut`, `merged`, ...)
// are written from rounds::Note (rounds/messages.hpp).
namespace curtail::runlog {

/// What the site's job is doing, for the calculation of its power.
enum class PowerState { starting, training, exchange, idle, draining, ended };
[[nodiscard]] char const* to_text(PowerState state);

/// An event: the site's power state has changed.
struct StateChange {
    std::string state;  ///< text of a PowerState
    std::string job;    ///< job id of the site's scheduler; may be empty
};
[[nodiscard]] Event to_event(StateChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<StateChange> state_change_in(Event const& event);

/// An event: a trainer has started.
struct TrainerStart {
    std::string job;     ///< job id of the site's scheduler; may be empty
    int ranks{0};        ///< number of processes of the job
    json::Object build;  ///< what `--version` prints: version, commit, compiler, ...
};
[[nodiscard]] Event to_event(TrainerStart const& start, Time now, std::string site);
[[nodiscard]] std::optional<TrainerStart> trainer_start_in(Event const& event);

/// An event: the trainer is about to exit with this code.
struct TrainerExit {
    ExitCode code{ExitCode::ok};
};
[[nodiscard]] Event to_event(TrainerExit const& exit, Time now, std::string site);
[[nodiscard]] bool is_trainer_exit(Event const& event);

/// An event: the drain signal has arrived.
struct StopRequested {};
[[nodiscard]] Event to_event(StopRequested, Time now, std::string site);
[[nodiscard]] bool is_stop_request(Event const& event);

/// An event: the trainer has finished its first optimizer step.
struct FirstStep {
    std::int64_t round{0};  ///< round of the model before the step; 0 if the trainer uses no store
};
[[nodiscard]] Event to_event(FirstStep const& step, Time now, std::string site);
[[nodiscard]] bool is_first_step(Event const& event);

/// An event: a contribution is in the store. It is written from rounds::Note.
struct Contributed {
    std::string member;   ///< member id
    std::int64_t seq{0};  ///< number of the contribution within its member, from 1
};
[[nodiscard]] std::optional<Contributed> contributed_in(Event const& event);

}  // namespace curtail::runlog
