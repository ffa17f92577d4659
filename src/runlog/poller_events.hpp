// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "runlog/event.hpp"

/// Events of the poller. `to_event` writes one, `..._in` reads it back and returns nothing for an
/// event of another type. Details that an older line lacks are empty.
namespace curtail::runlog {

/// The phase of a site's window changed.
struct Decision {
    std::optional<Time> signal_time;  ///< on the signal's clock
    std::string from;                 ///< phase: closed, open, closing
    std::string to;
    std::string reason;
    std::optional<GramsPerKwh> intensity;  ///< nothing: no signal
};
[[nodiscard]] Event to_event(Decision const& decision, Time now, std::string site);
[[nodiscard]] std::optional<Decision> decision_in(Event const& event);

/// A site's window opened or closed.
struct WindowChange {
    bool opens{false};
    std::string window;  ///< its name: the time at which it opened
    std::optional<Time> signal_time;
};
[[nodiscard]] Event to_event(WindowChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<WindowChange> window_change_in(Event const& event);

/// Something happened to a job.
struct JobChange {
    enum class Type { submitted, started, drained, cancelled, ended, failed };
    Type type{Type::submitted};
    std::string window;
    std::string job;                ///< empty: the submission was refused
    std::string why;                ///< of `drained` and `cancelled`
    std::string state;              ///< of `ended` and `failed`, as the launcher calls it
    std::optional<Time> at;         ///< the launcher's own time of the start or end
    std::optional<int> exit_code;   ///< of `ended` and `failed`
    std::optional<Millis> backoff;  ///< of `failed`: no other job starts before it is over
};
[[nodiscard]] Event to_event(JobChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<JobChange> job_change_in(Event const& event);

/// The time on the signal's clock that an event is about; nothing if it names none.
[[nodiscard]] std::optional<Time> signal_time_of(Event const& event);

/// The poller numbers its events, so that a restart writes each of them once.
void set_number(Event& event, std::int64_t number);
/// The highest number in a log; 0 if there is none.
[[nodiscard]] std::int64_t highest_number(std::vector<Event> const& events);

}  // namespace curtail::runlog
