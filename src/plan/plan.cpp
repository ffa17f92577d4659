#include "plan/plan.hpp"

#include <algorithm>

namespace curtail::plan {
namespace {

Tracked* find(SiteState& state, JobId const& id)
{
    auto const it = std::find_if(state.jobs.begin(), state.jobs.end(), [&](Tracked const& job) { return job.id == id; });
    return it == state.jobs.end() ? nullptr : &*it;
}

Job const* find(std::vector<Job> const& jobs, JobId const& id)
{
    auto const it = std::find_if(jobs.begin(), jobs.end(), [&](Job const& job) { return job.id == id; });
    return it == jobs.end() ? nullptr : &*it;
}

Job const* find(std::vector<Job> const& jobs, IntentId const& intent)
{
    auto const it = std::find_if(jobs.begin(), jobs.end(), [&](Job const& job) { return job.intent == intent; });
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

Millis count_failure(SiteState& state, std::string why, Time now, Rules const& rules)
{
    auto const pause = backoff(++state.failures, rules);
    state.retry_at = now + pause;
    state.failure = std::move(why);
    return pause;
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
        if (find(state, job->id) == nullptr) track(seen, job->id, state.intent->window, state.intent->id);
        state.retry_at.reset();
        state.intent.reset();
    } else if (state.intent->in_doubt && now - state.intent->since >= rules.settle) {
        state.intent.reset();
    }
}

void adopt_strangers(Observed& seen, std::vector<Job> const& jobs)
{
    for (auto const& job : jobs)
        if (job.state != Job::State::ended && find(seen.state, job.id) == nullptr) track(seen, job.id, job.window, job.intent);
}

void note_start(Observed& seen, Tracked& tracked, Job const* job, Time now)
{
    if (tracked.running_since || job == nullptr || job->state == Job::State::pending) return;
    if (job->state == Job::State::ended && !job->started) return;  // cancelled in the queue
    tracked.running_since = std::min(job->started.value_or(now), now);
    seen.happenings.push_back({Happening::Kind::started, tracked.id, tracked.window, {}, {}, {}, job->started});
}

void note_end(Observed& seen, Tracked const& tracked, Job const* job, Time now, Rules const& rules)
{
    auto const word = job == nullptr ? std::string("GONE") : job->word;
    auto const exit_code = job == nullptr ? std::nullopt : job->exit_code;
    auto const known_end = job == nullptr ? std::nullopt : job->ended;
    seen.happenings.push_back({Happening::Kind::ended, tracked.id, tracked.window, word, exit_code, {}, known_end});
    bool const at_once = !tracked.running_since || known_end.value_or(now) - *tracked.running_since < rules.at_once;
    // Who was asked to stop has not failed. Who ended so soon unasked has, even with exit code 0: its successor would do the same.
    if (tracked.asked_since) return;
    if (!at_once) return forget_failures(seen.state);
    auto text = "job " + tracked.id.value + " ended at once (" + word;
    if (exit_code) text += ", exit code " + std::to_string(*exit_code);
    auto const pause = count_failure(seen.state, text + ")", now, rules);
    seen.happenings.push_back({Happening::Kind::failed, tracked.id, tracked.window, word, exit_code, pause, known_end});
}

bool is_due(std::optional<Time> const& last, Millis period, Time now) { return !last || now - *last >= period; }

/// One step towards the end of a job that shall not run; `wait` while the last step may still work.
Action stop(Tracked const& job, Job::State shown, std::string const& why, Time now, Rules const& rules)
{
    Action action{Action::Kind::wait, job.id, job.window, {}, why};
    if (shown == Job::State::ending) {
        action.why = "job " + job.id.value + " is ending";
    } else if (shown == Job::State::pending) {
        if (is_due(job.last_cancel, rules.cancel_repeat, now)) action.kind = Action::Kind::cancel_pending;
        else action.why = "job " + job.id.value + " was taken out of the queue and is still there";
    } else if (job.first_drain && now - *job.first_drain >= rules.grace) {
        action.why += "; it did not stop within " + format_duration(rules.grace);
        if (is_due(job.last_cancel, rules.cancel_repeat, now)) action.kind = Action::Kind::cancel;
        else action.why = "job " + job.id.value + " was cancelled and is still there";
    } else if (is_due(job.last_drain, rules.drain_repeat, now)) {
        action.kind = Action::Kind::drain;
    } else {
        action.why = "job " + job.id.value + " was asked to stop " + format_duration(now - *job.first_drain) + " ago";
    }
    return action;
}

struct Live {
    Tracked const* tracked;
    Job::State shown;
};

/// A job whose comment cannot be read may be of any window.
bool is_of(Tracked const& job, WindowId const& window) { return job.window == window || job.window.value.empty(); }

/// The one that stays of those that nobody asked to stop: a running one before a pending one, then the older one. A job of an earlier
/// window goes, even where nobody looked between that one's end and the next one's beginning: what happens must not depend on load.
Live const* pick_keeper(std::vector<Live> const& live, WindowId const& window)
{
    Live const* keeper = nullptr;
    for (auto const& candidate : live) {
        if (candidate.tracked->asked_since || candidate.shown == Job::State::ending || !is_of(*candidate.tracked, window)) continue;
        bool const runs = candidate.shown == Job::State::running;
        if (keeper == nullptr || (runs && keeper->shown != Job::State::running)) keeper = &candidate;
    }
    return keeper;
}

std::string reason_to_go(Tracked const& job, Wish const& wish, Live const* keeper)
{
    if (!wish.job) return wish.why;
    if (!is_of(job, wish.window)) return "its window, of " + job.window.value + ", is over";
    if (keeper != nullptr) return "job " + keeper->tracked->id.value + " is there already";
    return "it was asked to go; the next job starts when it is gone";
}

Action start(SiteState const& state, Wish const& wish, Time now)
{
    Action action{Action::Kind::wait, {}, wish.window, {}, {}};
    if (state.intent) {
        action.why = "whether the last submission (" + state.intent->id.value + ") arrived is not known yet";
    } else if (state.retry_at && now < *state.retry_at) {
        action.why = state.failure + "; next try in " + format_duration(*state.retry_at - now) + " (failure " +
                     std::to_string(state.failures) + " in a row)";
    } else {
        action.kind = Action::Kind::submit;
        action.intent = {"i" + std::to_string(to_unix_ms(now))};
        action.why = wish.why;
    }
    return action;
}

Observed finish_submission(SiteState before, Action const& action, Outcome const& outcome, Time now, Rules const& rules)
{
    Observed seen{std::move(before), {}};
    auto& state = seen.state;
    if (outcome.kind == Outcome::Kind::done) {
        // Failures stay counted until a job has lived for a while.
        state.intent.reset();
        state.retry_at.reset();
        if (find(state, outcome.job) == nullptr) track(seen, outcome.job, action.window, action.intent);
        return seen;
    }
    auto const pause = count_failure(state, "submission failed (" + outcome.why + ")", now, rules);
    if (outcome.kind == Outcome::Kind::refused) {
        state.intent.reset();
        seen.happenings.push_back({Happening::Kind::failed, {}, action.window, "REFUSED: " + outcome.why, {}, pause, {}});
    } else if (state.intent) {
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
        case Action::Kind::wait:
            return "wait";
    }
    __builtin_unreachable();
}

std::optional<Action::Kind> action_kind(std::string const& text)
{
    using enum Action::Kind;
    for (auto const kind : {submit, drain, cancel, cancel_pending, wait})
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
    adopt_strangers(seen, jobs);
    std::vector<Tracked> still_there;
    auto const tracked = std::move(seen.state.jobs);
    for (auto one : tracked) {
        auto const* job = find(jobs, one.id);
        note_start(seen, one, job, now);
        if (job == nullptr || job->state == Job::State::ended) note_end(seen, one, job, now, rules);
        else still_there.push_back(std::move(one));
    }
    seen.state.jobs = std::move(still_there);
    return seen;
}

std::vector<Action> decide(SiteState const& state, Wish const& wish, std::vector<Job> const& jobs, Time now, Rules const& rules)
{
    std::vector<Live> live;
    for (auto const& tracked : state.jobs)
        if (auto const* job = find(jobs, tracked.id)) live.push_back({&tracked, job->state});
    auto const* keeper = wish.job ? pick_keeper(live, wish.window) : nullptr;
    std::vector<Action> actions;
    for (auto const& one : live)
        if (&one != keeper) actions.push_back(stop(*one.tracked, one.shown, reason_to_go(*one.tracked, wish, keeper), now, rules));
    if (keeper != nullptr) {
        auto const word = keeper->shown == Job::State::running ? " is running" : " is in the queue";
        actions.push_back(
            {Action::Kind::wait, keeper->tracked->id, keeper->tracked->window, {}, "job " + keeper->tracked->id.value + word});
    } else if (wish.job && actions.empty()) {
        actions.push_back(start(state, wish, now));
    } else if (actions.empty()) {
        actions.push_back({Action::Kind::wait, {}, wish.window, {}, wish.why});
    }
    return actions;
}

SiteState begin(SiteState before, Action const& action, Time now)
{
    if (action.kind == Action::Kind::submit) before.intent = Intent{action.intent, action.window, now, false};
    auto* job = find(before, action.job);
    if (job == nullptr || action.kind == Action::Kind::wait || action.kind == Action::Kind::submit) return before;
    if (!job->asked_since) job->asked_since = now;
    if (action.kind == Action::Kind::drain) {
        job->last_drain = now;
        if (!job->first_drain) job->first_drain = now;
    } else {
        job->last_cancel = now;
    }
    return before;
}

Observed finish(SiteState before, Action const& action, Outcome const& outcome, Time now, Rules const& rules)
{
    if (action.kind == Action::Kind::submit) return finish_submission(std::move(before), action, outcome, now, rules);
    Observed seen{std::move(before), {}};
    auto* job = find(seen.state, action.job);
    if (job == nullptr || action.kind == Action::Kind::wait || outcome.kind != Outcome::Kind::done) return seen;
    bool const drains = action.kind == Action::Kind::drain;
    bool& arrived = drains ? job->drain_arrived : job->cancel_arrived;
    if (!arrived)
        seen.happenings.push_back(
            {drains ? Happening::Kind::drained : Happening::Kind::cancelled, job->id, job->window, action.why, {}, {}, {}});
    arrived = true;
    return seen;
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
