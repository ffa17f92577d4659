// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/record.hpp"

#include <algorithm>

#include "poller/plan/lookup.hpp"

namespace curtail::plan {
namespace {

using runlog::JobChange;

// The submission's answer was lost. A later observation shows whether it failed: its job appears,
// or its intent expires.
void note_lost_answer(SiteState& state, std::string failure, Time now, JobLimits const& limits)
{
    if (!state.intent) return;
    count_setback(state, std::move(failure), now, limits);
    state.intent->since = now;
    state.intent->uncertain = true;
}

void note_refusal(Update& update, Action const& action, Outcome const& outcome, std::string failure,
                  Time now, JobLimits const& limits)
{
    auto const pause = count_setback(update.state, std::move(failure), now, limits);
    update.state.intent.reset();
    update.events.push_back({.type = JobChange::Type::failed,
                             .window = action.window.value,
                             .state = "REFUSED: " + outcome.why,
                             .retry_after = pause});
}

Update finish_submission(SiteState before, Action const& action, Outcome const& outcome, Time now,
                         JobLimits const& limits)
{
    Update update{.state = std::move(before)};
    auto failure = "submission failed (" + outcome.why + ")";
    switch (outcome.status) {
        case Outcome::Status::done:
            // Failures stay counted until a job has shown that it works.
            update.state.intent.reset();
            update.state.retry_at.reset();
            if (find(update.state, outcome.job) == nullptr)
                track(update, outcome.job, action.window, action.intent);
            break;
        case Outcome::Status::refused:
            note_refusal(update, action, outcome, std::move(failure), now, limits);
            break;
        case Outcome::Status::unknown:
            note_lost_answer(update.state, std::move(failure), now, limits);
            break;
    }
    return update;
}

bool is_stop(ActionType type) { return type != ActionType::wait && type != ActionType::submit; }

}  // namespace

SiteState begin(SiteState before, Action const& action, Time now)
{
    if (action.type == ActionType::submit) {
        before.intent = Intent{action.intent, action.window, now, false};
        before.retry_at.reset();  // that pause is over
    }
    auto* job = find(before, action.job);
    if (job == nullptr || !is_stop(action.type)) return before;
    // A job that ended by itself received no stop request: its end counts.
    if (!job->asked_since && action.type != ActionType::end_leftovers) job->asked_since = now;
    if (action.type == ActionType::drain) {
        job->last_drain = now;
        ++job->drains;
    } else {
        job->last_cancel = now;
    }
    return before;
}

Update finish(SiteState before, Action const& action, Outcome const& outcome, Time now,
              JobLimits const& limits)
{
    if (action.type == ActionType::submit)
        return finish_submission(std::move(before), action, outcome, now, limits);
    Update update{.state = std::move(before)};
    auto* job = find(update.state, action.job);
    if (job == nullptr || outcome.status != Outcome::Status::done) return update;
    auto const note = [&](JobChange::Type type) {
        update.events.push_back({type, job->window.value, job->id.value, action.why});
    };
    if (action.type == ActionType::drain) {
        if (!job->drained_since) note(JobChange::Type::drained);
        job->drained_since = std::min(job->drained_since.value_or(now), now);
    } else if (action.type == ActionType::cancel || action.type == ActionType::cancel_pending) {
        if (!job->cancel_arrived) note(JobChange::Type::cancelled);
        job->cancel_arrived = true;
    }
    return update;
}

SiteState recover(SiteState before, Time now)
{
    if (before.intent && !before.intent->uncertain) {
        before.intent->since = now;
        before.intent->uncertain = true;
    }
    return before;
}

}  // namespace curtail::plan
