// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>

namespace curtail::plan {
namespace {

Tracked* find(SiteState& state, JobId const& id)
{
    auto const it = std::find_if(state.jobs.begin(), state.jobs.end(),
                                 [&](Tracked const& job) { return job.id == id; });
    return it == state.jobs.end() ? nullptr : &*it;
}

/// A number that comes back with another intent is another job; where a comment has been taken off,
/// the number alone tells.
bool is_same(Tracked const& tracked, Job const& job)
{
    return job.id == tracked.id && (job.intent == tracked.intent || job.intent.value.empty());
}

Job const* find(std::vector<Job> const& jobs, Tracked const& tracked)
{
    auto const it = std::find_if(jobs.begin(), jobs.end(),
                                 [&](Job const& job) { return is_same(tracked, job); });
    return it == jobs.end() ? nullptr : &*it;
}

bool is_tracked(SiteState const& state, Job const& job)
{
    return std::any_of(state.jobs.begin(), state.jobs.end(),
                       [&](Tracked const& tracked) { return is_same(tracked, job); });
}

Job const* find(std::vector<Job> const& jobs, IntentId const& intent)
{
    auto const it = std::find_if(jobs.begin(), jobs.end(),
                                 [&](Job const& job) { return job.intent == intent; });
    return it == jobs.end() ? nullptr : &*it;
}

void track(Observed& seen, JobId const& id, WindowId const& window, IntentId const& intent)
{
    Tracked job;
    job.id = id;
    job.window = window;
    job.intent = intent;
    seen.state.jobs.push_back(std::move(job));
    seen.happenings.push_back({Happening::Kind::submitted, id, window, {}, {}, {}, {}});
}

Millis pause_after(SiteState& state, std::string why, Millis pause, Time now)
{
    state.retry_at = now + pause;
    state.failure = std::move(why);
    return pause;
}

Millis count_failure(SiteState& state, std::string why, Time now, Rules const& rules)
{
    auto const pause = backoff(++state.failures, rules);
    return pause_after(state, std::move(why), pause, now);
}

void forget_failures(SiteState& state)
{
    state.failures = 0;
    state.retry_at.reset();
    state.failure.clear();
}

void resolve_intent(Observed& seen, std::vector<Job> const& jobs, Time now, Rules const& rules)
{
    auto& state = seen.state;
    if (!state.intent) return;
    if (auto const* job = find(jobs, state.intent->id)) {
        if (!is_tracked(state, *job)) track(seen, job->id, state.intent->window, state.intent->id);
        state.retry_at.reset();
        state.intent.reset();
    } else if (state.intent->in_doubt && now - state.intent->since >= rules.settle) {
        // The pause of a lost answer began with it; a poller that died has set none.
        if (state.retry_at) ++state.failures;
        state.intent.reset();
    }
}

/// Jobs of this run, site and folder that nobody remembers: a state file was lost, or an answer
/// came very late.
void adopt_forgotten(Observed& seen, std::vector<Job> const& jobs)
{
    for (auto const& job : jobs)
        if (job.state != Job::State::ended && !job.intent.value.empty() &&
            !is_tracked(seen.state, job))
            track(seen, job.id, job.window, job.intent);
}

void note_start(Observed& seen, Tracked& tracked, Job const* job, Time now)
{
    if (tracked.running_since || job == nullptr || job->state == Job::State::pending) return;
    if (job->state == Job::State::ended && !job->started) return;  // cancelled in the queue
    tracked.running_since = std::min(job->started.value_or(now), now);
    seen.happenings.push_back(
        {Happening::Kind::started, tracked.id, tracked.window, {}, {}, {}, job->started});
}

/// How long the next job waits after one that ended unasked. Who ended at once has failed even with
/// exit code 0: its successor would do the same. Who was displaced is not to blame, and is not
/// counted.
Millis judge_failure(SiteState& state, Tracked const& tracked, Job const& job, Millis lived,
                     Time now, Rules const& rules)
{
    bool const at_once = lived < rules.at_once;
    auto text = "job " + tracked.id.value + (at_once ? " ended at once (" : " failed (") + job.word;
    if (job.exit_code) text += ", exit code " + std::to_string(*job.exit_code);
    text += ")";
    if (job.end == Job::End::displaced)
        return pause_after(state, std::move(text), rules.first_backoff, now);
    return count_failure(state, std::move(text), now, rules);
}

void note_end(Observed& seen, Tracked const& tracked, Job const* shown, Time now,
              Rules const& rules)
{
    Job gone;
    gone.word = "GONE";
    auto const& job = shown == nullptr ? gone : *shown;
    seen.happenings.push_back({Happening::Kind::ended,
                               tracked.id,
                               tracked.window,
                               job.word,
                               job.exit_code,
                               {},
                               job.ended});
    auto const lived =
        tracked.running_since ? job.ended.value_or(now) - *tracked.running_since : Millis(0);
    bool const ended_well = job.end == Job::End::clean && lived >= rules.at_once;
    if (ended_well || lived >= rules.proven) forget_failures(seen.state);
    if (ended_well || tracked.asked_since) return;  // who was asked to stop has not failed
    auto const pause = judge_failure(seen.state, tracked, job, lived, now, rules);
    seen.happenings.push_back({Happening::Kind::failed, tracked.id, tracked.window, job.word,
                               job.exit_code, pause, job.ended});
}

bool is_due(std::optional<Time> const& last, Millis period, Time now)
{
    return !last || now - *last >= period;
}

/// Why a job that runs on may be ended by force; empty: not yet.
std::string overdue(Tracked const& job, Time now, Rules const& rules)
{
    if (job.drains < rules.drains || !job.asked_since) return {};
    if (job.drained_since)
        return now - *job.drained_since >= rules.grace
                   ? "it did not stop within " + format_duration(rules.grace)
                   : std::string();
    auto const longest = 3 * rules.grace;
    return now - *job.asked_since >= longest
               ? "no drain could be delivered within " + format_duration(longest)
               : std::string();
}

/// One step towards the end of a job that shall not run; `wait` while the last step may still work.
Action stop(Tracked const& job, Job const& shown, std::string const& why, Time now,
            Rules const& rules)
{
    Action action{Action::Kind::wait, job.id, job.window, {}, why};
    auto const name = "job " + job.id.value;
    bool const may_cancel = is_due(job.last_cancel, rules.cancel_repeat, now);
    if (shown.state == Job::State::ending) {
        action.why = shown.leftovers ? name + " is over, processes that it left are not"
                                     : name + " is ending";
        if (shown.leftovers && may_cancel) action.kind = Action::Kind::sweep;
    } else if (shown.state == Job::State::pending) {
        if (may_cancel) action.kind = Action::Kind::cancel_pending;
        else action.why = name + " was taken out of the queue and is still there";
    } else if (auto const late = overdue(job, now, rules); !late.empty()) {
        action.why += "; " + late;
        if (may_cancel) action.kind = Action::Kind::cancel;
        else action.why = name + " was cancelled and is still there";
    } else if (is_due(job.last_drain, rules.drain_repeat, now)) {
        action.kind = Action::Kind::drain;
    } else {
        action.why = name + " was asked to stop " +
                     format_duration(now - job.asked_since.value_or(now)) + " ago";
    }
    return action;
}

struct Live {
    Tracked const* tracked;
    Job const* shown;
};

/// The one that stays of those that nobody asked to stop: a running one before a pending one, then
/// the older one. A job of an earlier window goes, even where nobody looked between that one's end
/// and the next one's beginning: what happens must not depend on load.
Live const* pick_keeper(std::vector<Live> const& live, WindowId const& window)
{
    Live const* keeper = nullptr;
    for (auto const& candidate : live) {
        if (candidate.tracked->asked_since || candidate.shown->state == Job::State::ending ||
            candidate.tracked->window != window)
            continue;
        bool const runs = candidate.shown->state == Job::State::running;
        if (keeper == nullptr || (runs && keeper->shown->state != Job::State::running))
            keeper = &candidate;
    }
    return keeper;
}

std::string reason_to_go(Tracked const& job, Wish const& wish, Live const* keeper)
{
    if (!wish.job) return wish.why;
    if (job.window != wish.window) return "its window, of " + job.window.value + ", is over";
    if (keeper != nullptr) return "job " + keeper->tracked->id.value + " is there already";
    return "it was asked to go; the next job starts when it is gone";
}

Action start(SiteState const& state, Wish const& wish, Time now)
{
    Action action{Action::Kind::wait, {}, wish.window, {}, {}};
    if (state.intent) {
        action.why =
            "whether the last submission (" + state.intent->id.value + ") arrived is not known yet";
    } else if (state.retry_at && now < *state.retry_at) {
        action.why = state.failure + "; next try in " + format_duration(*state.retry_at - now);
        if (state.failures > 0)
            action.why += " (failure " + std::to_string(state.failures) + " in a row)";
    } else {
        action.kind = Action::Kind::submit;
        action.intent = {"i" + std::to_string(to_unix_ms(now))};
        action.why = wish.why;
    }
    return action;
}

Observed finish_submission(SiteState before, Action const& action, Outcome const& outcome, Time now,
                           Rules const& rules)
{
    Observed seen{std::move(before), {}};
    auto& state = seen.state;
    if (outcome.kind == Outcome::Kind::done) {
        // Failures stay counted until a job has shown that it works.
        state.intent.reset();
        state.retry_at.reset();
        if (find(state, outcome.job) == nullptr)
            track(seen, outcome.job, action.window, action.intent);
        return seen;
    }
    auto const failure = "submission failed (" + outcome.why + ")";
    if (outcome.kind == Outcome::Kind::refused) {
        auto const pause = count_failure(state, failure, now, rules);
        state.intent.reset();
        seen.happenings.push_back(
            {Happening::Kind::failed, {}, action.window, "REFUSED: " + outcome.why, {}, pause, {}});
    } else if (state.intent) {
        // Whether it has failed shows when it is given up or its job appears.
        pause_after(state, failure, backoff(state.failures + 1, rules), now);
        state.intent->since = now;
        state.intent->in_doubt = true;
    }
    return seen;
}

}  // namespace

char const* to_text(Action::Kind kind)
{
    switch (kind) {
        case Action::Kind::submit:
            return "submit";
        case Action::Kind::drain:
            return "drain";
        case Action::Kind::cancel:
            return "cancel";
        case Action::Kind::cancel_pending:
            return "cancel-pending";
        case Action::Kind::sweep:
            return "sweep";
        case Action::Kind::wait:
            return "wait";
    }
    __builtin_unreachable();
}

std::optional<Action::Kind> action_kind(std::string const& text)
{
    using enum Action::Kind;
    for (auto const kind : {submit, drain, cancel, cancel_pending, sweep, wait})
        if (text == to_text(kind)) return kind;
    return std::nullopt;
}

Millis backoff(int failures, Rules const& rules)
{
    auto pause = rules.first_backoff;
    for (int i = 1; i < failures && pause < rules.longest_backoff; ++i) pause *= 2;
    return std::min(pause, rules.longest_backoff);
}

Observed observe(SiteState before, std::vector<Job> const& jobs, Time now, Rules const& rules)
{
    Observed seen{std::move(before), {}};
    resolve_intent(seen, jobs, now, rules);
    adopt_forgotten(seen, jobs);
    std::vector<Tracked> still_there;
    auto const tracked = std::move(seen.state.jobs);
    for (auto one : tracked) {
        auto const* job = find(jobs, one);
        note_start(seen, one, job, now);
        if (job == nullptr || job->state == Job::State::ended) note_end(seen, one, job, now, rules);
        else still_there.push_back(std::move(one));
    }
    seen.state.jobs = std::move(still_there);
    return seen;
}

std::vector<Action> decide(SiteState const& state, Wish const& wish, std::vector<Job> const& jobs,
                           Time now, Rules const& rules)
{
    std::vector<Live> live;
    for (auto const& tracked : state.jobs)
        if (auto const* job = find(jobs, tracked)) live.push_back({&tracked, job});
    auto const* keeper = wish.job ? pick_keeper(live, wish.window) : nullptr;
    std::vector<Action> actions;
    for (auto const& one : live)
        if (&one != keeper)
            actions.push_back(stop(*one.tracked, *one.shown,
                                   reason_to_go(*one.tracked, wish, keeper), now, rules));
    if (keeper != nullptr) {
        auto const& reason = keeper->shown->reason;
        auto const word =
            keeper->shown->state == Job::State::running ? " is running" : " is in the queue";
        actions.push_back({Action::Kind::wait,
                           keeper->tracked->id,
                           keeper->tracked->window,
                           {},
                           "job " + keeper->tracked->id.value + word +
                               (reason.empty() ? "" : " (" + reason + ")")});
    } else if (wish.job && actions.empty()) {
        actions.push_back(start(state, wish, now));
    } else if (actions.empty()) {
        actions.push_back({Action::Kind::wait, {}, wish.window, {}, wish.why});
    }
    return actions;
}

SiteState begin(SiteState before, Action const& action, Time now)
{
    if (action.kind == Action::Kind::submit) {
        before.intent = Intent{action.intent, action.window, now, false};
        before.retry_at.reset();  // that pause is over
    }
    auto* job = find(before, action.job);
    if (job == nullptr || action.kind == Action::Kind::wait || action.kind == Action::Kind::submit)
        return before;
    // A job that is over by itself was not asked: how it ended counts.
    if (!job->asked_since && action.kind != Action::Kind::sweep) job->asked_since = now;
    if (action.kind == Action::Kind::drain) {
        job->last_drain = now;
        ++job->drains;
    } else {
        job->last_cancel = now;
    }
    return before;
}

Observed finish(SiteState before, Action const& action, Outcome const& outcome, Time now,
                Rules const& rules)
{
    if (action.kind == Action::Kind::submit)
        return finish_submission(std::move(before), action, outcome, now, rules);
    Observed seen{std::move(before), {}};
    auto* job = find(seen.state, action.job);
    if (job == nullptr || action.kind == Action::Kind::wait || outcome.kind != Outcome::Kind::done)
        return seen;
    auto const note = [&](Happening::Kind kind) {
        seen.happenings.push_back({kind, job->id, job->window, action.why, {}, {}, {}});
    };
    if (action.kind == Action::Kind::drain) {
        if (!job->drained_since) note(Happening::Kind::drained);
        job->drained_since = std::min(job->drained_since.value_or(now), now);
    } else if (action.kind != Action::Kind::sweep) {
        if (!job->cancel_arrived) note(Happening::Kind::cancelled);
        job->cancel_arrived = true;
    }
    return seen;
}

std::string warning_of(SiteState const& state, std::vector<Job> const& jobs)
{
    std::string text;
    auto const add = [&](std::string const& sentence) {
        text += (text.empty() ? "" : "; ") + sentence;
    };
    for (auto const& job : jobs) {
        if (job.state == Job::State::ended) continue;
        if (!job.warning.empty()) add(job.warning);
        if (job.intent.value.empty() && !is_tracked(state, job))
            add("job " + job.id.value +
                " is called like a job of this site, but its comment does not say so: it is left "
                "alone");
    }
    return text;
}

SiteState recover(SiteState before, Time now)
{
    if (before.intent && !before.intent->in_doubt) {
        before.intent->since = now;
        before.intent->in_doubt = true;
    }
    return before;
}

}  // namespace curtail::plan
