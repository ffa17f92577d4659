// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/units.hpp"
#include "run/runlog/event.hpp"
#include "run/windows/evaluate_interval.hpp"

// Structs for the events that the poller writes. A function `to_event` makes an Event from a
// struct. A function `..._in` makes the struct from an Event. If the event has another type,
// `..._in` returns an empty optional. If a detail is missing, the corresponding member of the
// struct is empty.
namespace curtail::runlog {

/// An event: the phase of a site's window has changed.
[[nodiscard]] Event to_event(windows::PhaseChange const& change, Time now, std::string site);
/// The event has neither the explanation nor `last_above`. If it has no time on the signal's clock,
/// `time` is that of the event. Also returns an empty optional if a name is unknown.
[[nodiscard]] std::optional<windows::PhaseChange> phase_change_in(Event const& event);

/// An event: a site's window has opened or closed.
struct WindowChange {
    bool opens{false};   ///< false: the window has closed
    std::string window;  ///< name of the window: its opening time on the signal's clock
    std::optional<Time> signal_time;  ///< time of the change, on the signal's clock
};
[[nodiscard]] Event to_event(WindowChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<WindowChange> window_change_in(Event const& event);

/// An event: a job was submitted, has started, was asked to drain, was cancelled, has ended or has
/// failed.
struct JobChange {
    enum class Type { submitted, started, drained, cancelled, ended, failed };
    Type type{Type::submitted};
    std::string window{};  ///< name of the window for which the job was submitted
    std::string job{};     ///< job id; empty if the launcher refused the job
    std::string why{};     ///< for `drained` and `cancelled`: why the job should stop
    /// For `ended` and `failed`: the launcher's name of the final state, or why it refused the job.
    std::string state{};
    /// For `started`, `ended` and `failed`: real time of the job's start or end; empty if the
    /// launcher does not state it.
    std::optional<Time> at{};
    std::optional<int> exit_code{};       ///< for `ended` and `failed`: the job's exit code
    std::optional<Millis> retry_after{};  ///< for `failed`: pause before the next job
    /// For `ended` without `at`: the latest time at which the job can have ended.
    std::optional<Time> latest{};
    /// For `drained` and `cancelled`: whose poller it was. For `ended`: who cancelled the job, if
    /// the launcher knows. Otherwise empty.
    std::string by{};
};
/// Returns true for `drained` and `cancelled`.
[[nodiscard]] bool is_stop(JobChange::Type type);
[[nodiscard]] Event to_event(JobChange const& change, Time now, std::string site);
[[nodiscard]] std::vector<Event> to_events(std::vector<JobChange> const& changes, Time now,
                                           std::string const& site);
[[nodiscard]] std::optional<JobChange> job_change_in(Event const& event);

/// An event: the launcher's name for the state of a job has changed, for example to `SUSPENDED`.
struct JobStateChange {
    std::string job;
    std::string state;
    /// When the launcher started the job; empty if it does not run, or if the launcher does not
    /// state it.
    std::optional<Time> started{};
};
[[nodiscard]] Event to_event(JobStateChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<JobStateChange> job_state_change_in(Event const& event);

/// An event: what the cluster's accounting says about the site's jobs.
struct Accounting {
    struct Job {
        std::string job;
        std::string state;
        std::optional<Time> started;
        std::optional<Time> ended;
        std::optional<Millis> elapsed{};     ///< without the time in which it was suspended
        std::optional<double> consumed_j{};  ///< of its nodes, in joules; empty if not metered
    };
    std::vector<Job> jobs;
    std::string why;  ///< why there is no answer; empty if there is one
};
[[nodiscard]] Event to_event(Accounting const& accounting, Time now, std::string site);
[[nodiscard]] std::optional<Accounting> accounting_in(Event const& event);

/// An event: a site is held, or no longer held.
struct HoldChange {
    bool held{false};
    std::string cause;  ///< `person`, `operator`, `failures` or `cancel`
    std::string why;
    std::optional<std::int64_t> serial{};  ///< for `person`: serial of the permission::Hold
    std::optional<Time> signal_time{};     ///< time of the change, on the signal's clock
    std::string by{};  ///< who decided, such as `anna@login1`; empty: the poller itself
};
[[nodiscard]] Event to_event(HoldChange const& change, Time now, std::string site);
[[nodiscard]] std::optional<HoldChange> hold_change_in(Event const& event);

/// Returns the event's time on the signal's clock. Returns an empty optional if the event has none.
[[nodiscard]] std::optional<Time> signal_time_of(Event const& event);

/// Sets the number of an event. The poller numbers its events so that a restarted poller writes
/// each event only once.
void set_number(Event& event, std::int64_t number);
/// Returns the highest event number in `events`, or 0 if no event has one.
[[nodiscard]] std::int64_t highest_number(std::vector<Event> const& events);

}  // namespace curtail::runlog
