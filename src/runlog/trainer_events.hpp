// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/result.hpp"
#include "runlog/event.hpp"

/// Events of a site's trainer. Each `..._event` has its writer; `..._in` reads it back and returns
/// nothing for an event of another type. The events of rounds (`joined`, `cut`, `merged`, ...) come
/// with their details from rounds::Note.
namespace curtail::runlog {

/// What the site draws power for, from the time of the event on.
enum class PowerState { starting, training, exchange, idle, draining, ended };
[[nodiscard]] char const* to_text(PowerState state);

/// The site's power state changed.
struct StateChange {
    std::string state;  ///< text of a PowerState
    std::string job;    ///< id in the site's scheduler; may be empty
};
[[nodiscard]] Event to_event(StateChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<StateChange> state_change_in(Event const& event);

/// A trainer started.
struct TrainerStart {
    std::string job;
    int ranks{0};
    json::Object build;  ///< what `--version` prints: version, commit, compiler, ...
};
[[nodiscard]] Event to_event(TrainerStart const& start, Time now, std::string site);
[[nodiscard]] std::optional<TrainerStart> trainer_start_in(Event const& event);

/// The trainer's process is about to exit with this code.
struct TrainerExit {
    ExitCode code{ExitCode::ok};
};
[[nodiscard]] Event to_event(TrainerExit const& exit, Time now, std::string site);
[[nodiscard]] bool is_trainer_exit(Event const& event);

/// The drain signal has arrived.
struct StopRequested {};
[[nodiscard]] Event to_event(StopRequested, Time now, std::string site);
[[nodiscard]] bool is_stop_request(Event const& event);

/// The trainer's first optimizer step has ended.
struct FirstStep {
    std::int64_t round{0};  ///< of the model that the step started from; 0 without a store
};
[[nodiscard]] Event to_event(FirstStep const& step, Time now, std::string site);
[[nodiscard]] bool is_first_step(Event const& event);

/// A contribution is in the store. Written from rounds::Note.
struct Contributed {
    std::string member;
    std::int64_t seq{0};
};
[[nodiscard]] std::optional<Contributed> contributed_in(Event const& event);

}  // namespace curtail::runlog
