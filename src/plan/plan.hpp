// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "plan/state.hpp"

/// Desired state + observed jobs -> actions, for one site. Pure: no clock, no I/O.
///
/// One look is: `observe` what the launcher shows, `decide` what to do, and for each action `begin`
/// it (what is remembered before the act, so that a crash in it loses nothing) and `finish` it with
/// its outcome. Times are real ones, whatever clock signals follow.
namespace curtail::plan {

struct Rules {
    Millis grace{120'000};  ///< from the first drain signal that was delivered to a plain cancel;
                            ///< three times that if none was
    int drains{2};          ///< no cancel before so many were tried, however long that takes
    Millis drain_repeat{3'000};   ///< a signal may be lost, so it is repeated until the job is gone
    Millis cancel_repeat{5'000};  ///< the same for the cancel
    Millis settle{5'000};         ///< a submission without an answer may still appear for so long
    Millis at_once{
        20'000};  ///< a job that ends by itself sooner than this has failed, even with exit code 0
    Millis proven{600'000};  ///< a job that lived so long has worked: should it fail, that begins a
                             ///< new series
    Millis first_backoff{
        10'000};  ///< after the first failure of a series; doubles with each further one
    Millis longest_backoff{600'000};
};

/// What the windows and the person want of a site.
struct Wish {
    bool job{false};  ///< one job shall run
    WindowId window;  ///< for which window; empty if none is open
    std::string why;  ///< "the window is closed"
};

struct Action {
    enum class Kind {
        submit,
        drain,           ///< ask to stop: finish the step, contribute, exit
        cancel,          ///< end it
        cancel_pending,  ///< take it out of the queue, unless it has started meanwhile
        sweep,           ///< end what a job that is over left behind
        wait
    };
    Kind kind{Kind::wait};
    JobId job;        ///< of all but submit
    WindowId window;  ///< of the job
    IntentId intent;  ///< of submit
    std::string why;
    friend bool operator==(Action const&, Action const&) = default;
};
[[nodiscard]] char const* to_text(Action::Kind kind);  ///< `cancel-pending`
[[nodiscard]] std::optional<Action::Kind> action_kind(std::string const& text);

/// How an action went.
struct Outcome {
    enum class Kind {
        done,
        refused,  ///< certainly without effect
        unknown   ///< no answer: it may have happened
    };
    Kind kind{Kind::done};
    JobId job;        ///< of a submission that was done
    std::string why;  ///< unless done
};

/// What became known about a job, each once per job. For events.
struct Happening {
    enum class Kind { submitted, started, drained, cancelled, ended, failed };
    Kind kind{Kind::submitted};
    JobId job;  ///< empty for a submission that was refused
    WindowId window;
    std::string word;                   ///< ended, failed: state; drained, cancelled: why
    std::optional<int> exit_code;       ///< ended
    std::optional<Millis> retry_after;  ///< failed
    std::optional<Time>
        when;  ///< started, ended, failed: the launcher's own time of it, where it is known
};

struct Observed {
    SiteState state;
    std::vector<Happening> happenings;
};

/// Takes over what the launcher shows: open intents are matched, new and vanished jobs noticed,
/// failures counted. `jobs` are all jobs of this run and site that the launcher still knows, asked
/// for at `now` or later.
[[nodiscard]] Observed observe(SiteState before, std::vector<Job> const& jobs, Time now,
                               Rules const& rules);

/// What to do now. At least one action; `wait` says for what.
///
/// - A job runs while the wish says so; otherwise it is drained, drained again, and `grace` after
/// the first drain that was delivered
///   cancelled.
/// - A job belongs to its window: when that is over it goes, also where the next window has already
/// begun.
/// - A site whose job is on its way out gets its next one when that one is gone: never two, never
/// none.
/// - Of two jobs the older one stays.
/// - After a failure the next job waits for the backoff.
/// - A job that does not carry an intent of this run, site and folder is nobody's: nothing is done
/// to it or because of it.
[[nodiscard]] std::vector<Action> decide(SiteState const& state, Wish const& wish,
                                         std::vector<Job> const& jobs, Time now,
                                         Rules const& rules);

/// What a person should know of jobs that are there; empty: nothing. One line.
[[nodiscard]] std::string warning_of(SiteState const& state, std::vector<Job> const& jobs);

/// What is remembered before the act.
[[nodiscard]] SiteState begin(SiteState before, Action const& action, Time now);
/// What is remembered after it.
[[nodiscard]] Observed finish(SiteState before, Action const& action, Outcome const& outcome,
                              Time now, Rules const& rules);

/// What is remembered by a poller that starts: an intent that its predecessor left open is in doubt
/// from now on.
[[nodiscard]] SiteState recover(SiteState before, Time now);

/// Pause after so many failures in a row.
[[nodiscard]] Millis backoff(int failures, Rules const& rules);

}  // namespace curtail::plan
