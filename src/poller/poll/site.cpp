// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/site.hpp"

#include "base/core/clock.hpp"
#include "poller/launch/job_log.hpp"

namespace curtail::poll {
namespace {

Time real_now() { return SystemClock{}.now(); }

permission::IssuePolicy policy_of(SiteParts const& parts)
{
    auto const& site = parts.site;
    auto const close_delay =
        std::chrono::round<Millis>(FractionalSeconds(site.window.close_delay) / parts.speed);
    return {site.poll_period, site.permission_lifetime.value_or(
                                  permission::default_lifetime(site.poll_period, close_delay))};
}

}  // namespace

SitePoller::SitePoller(SiteParts parts, StateStore& store, Log log)
    : parts_(std::move(parts)),
      store_(store),
      log_(std::move(log)),
      permission_(parts_.folder, parts_.run, parts_.site.site, policy_of(parts_))
{
    findings_.site = parts_.site.site;
    findings_.region = parts_.site.region;
}

plan::JobLimits SitePoller::limits() const
{
    auto limits = parts_.limits;
    std::lock_guard const guard(mutex_);
    if (skips_grace_) {
        limits.grace = Millis(0);
        limits.drains_before_cancel = 1;
    }
    return limits;
}

void SitePoller::skip_grace()
{
    std::lock_guard const guard(mutex_);
    skips_grace_ = true;
}

// Logs an error when it begins, changes or ends, not at each poll.
void SitePoller::log_change(std::optional<Error> const& before, std::optional<Error> const& now,
                            char const* source) const
{
    if (before == now) return;
    if (!now) log_.info(id().value + ": " + source + " answers again");
    else log_.warning(id().value + ": " + now->message());
}

void SitePoller::set_status(SignalStatus status)
{
    std::lock_guard const guard(mutex_);
    log_change(findings_.signal.error, status.error, "the signal provider");
    findings_.signal = std::move(status);
}

void SitePoller::set_status(JobStatus status)
{
    std::lock_guard const guard(mutex_);
    auto& before = findings_.jobs;
    if (status.list_error) {  // nothing new is known
        status.action_error = before.action_error;
        status.warning = before.warning;
    }
    log_change(before.list_error, status.list_error, "the launcher");
    if (!status.warning.empty() && before.warning != status.warning)
        log_.warning(id().value + ": " + status.warning);
    before = std::move(status);
}

WindowResult SitePoller::evaluate(Time signal_now)
{
    auto const before = store_.site(id());
    auto const& stored = before.window;
    if (!parts_.provider) {
        set_status(stored_status(stored, signal_now));
        return {};
    }
    auto const checked = check_clock(stored, signal_now, is_replay());
    bool const waits = checked.error && is_replay();
    {
        std::lock_guard const guard(mutex_);
        clock_wait_ = waits ? checked.error->what + ": " + checked.error->why : "";
    }
    if (waits) return wait_for_clock(stored, *checked.error, signal_now);
    auto const from =
        checked.record.evaluated_until.value_or(parts_.trace_start.value_or(signal_now));
    windows::Rule const rule{parts_.site.signal_max_age, parts_.site.window};
    auto const answer =
        parts_.provider->samples(parts_.site.region, from - rule.max_age, signal_now);
    auto const recorded = store_.record(id(), parts_.site.region, answer.samples);
    auto evaluation =
        evaluate_window({id(), checked.record, answer.samples, rule, from, signal_now, real_now()});
    evaluation.status.error = checked.error ? checked.error : answer.problem;
    set_status(evaluation.status);
    for (auto const& line : evaluation.log) log_.info(line);
    if (!evaluation.warning.empty()) log_.warning(evaluation.warning);
    std::erase_if(evaluation.events, [&](auto const& event) { return is_written(before, event); });
    evaluation.after.polled = real_now();
    auto const written = store_.set_window(id(), evaluation.after, std::move(evaluation.events),
                                           durability(recorded.value_or(false), real_now()));
    return {evaluation.phase_changed(), recorded ? written : tl::unexpected(recorded.error())};
}

WindowResult SitePoller::wait_for_clock(WindowRecord record, Error error, Time signal_now)
{
    auto status = stored_status(record, signal_now);
    status.error = std::move(error);
    set_status(std::move(status));
    record.polled = real_now();
    return {false, store_.set_window(id(), record, {}, durability(false, real_now()))};
}

// A live provider knows only a day. A poller that restarts further behind than that would evaluate
// the time in between without its samples, so new samples are not left waiting. A trace has all
// samples. Twice per poll period, the state is saved in any case, to show that the poller is alive.
StateStore::Durability SitePoller::durability(bool has_new_samples, Time now)
{
    bool const is_due =
        !last_saved_ || now < *last_saved_ || now - *last_saved_ >= parts_.site.poll_period / 2;
    if (!is_due && (is_replay() || !has_new_samples)) return StateStore::Durability::lazy;
    last_saved_ = now;
    return StateStore::Durability::now;
}

Decisions SitePoller::decisions() const
{
    return {permission::read_hold(parts_.folder, parts_.run, id()),
            permission::find_operator_hold(parts_.hold_folders,
                                           permission::subject_of(parts_.run, id()), real_now())};
}

plan::DesiredState SitePoller::desired(SiteRecord const& record, StopReason stop_reason) const
{
    if (stop_reason == StopReason::none) {
        std::lock_guard const guard(mutex_);
        if (!clock_wait_.empty()) return {false, {}, clock_wait_};
    }
    return desired_state(record.window, stop_reason, hold_reason(record.holds, decisions()),
                         is_complete());
}

bool SitePoller::is_complete() const
{
    std::error_code error;
    return std::filesystem::exists(parts_.complete_file, error);
}

Result<void> SitePoller::renew_permission(Time signal_now, StopReason stop_reason)
{
    if (auto confirmed = store_.confirm_lock(); !confirmed) return confirmed;
    auto const record = store_.site(id());
    if (stop_reason != StopReason::none) {
        std::lock_guard const guard(mutex_);
        stop_reason_ = stop_reason;
    }
    auto const wanted = desired(record, stop_reason);
    if (wanted.job && !parts_.provider)
        return fail(ExitCode::usage, "cannot permit training at site " + id().value,
                    "this poll has no signal source", "pass --watttime or --trace");
    Moment const now{real_now(), signal_now, parts_.speed};
    return permission_.update(
        verdict_on(wanted, record.window, parts_.site.window.close_delay, now), now.real);
}

JobResult SitePoller::manage_jobs(Time signal_now, StopReason stop_reason, bool dry_run)
{
    auto const now = real_now();
    auto listed = parts_.launcher->jobs();
    auto record = store_.site(id());
    if (!listed) {
        set_status(undecided_status(record.window, desired(record, stop_reason), listed.error()));
        return {};
    }
    if (auto added = add_forgotten(record.jobs, *listed, now); !added) {
        set_status(undecided_status(record.window, desired(record, stop_reason), added.error()));
        return {false, store_.set_jobs(id(), record.jobs, record.holds, {})};
    }
    add_causes(record.jobs, *listed, now);
    auto other = other_trainer(record.jobs, *listed, now);
    auto stored = store_observation(
        observe_jobs(id(), record.jobs, *listed, now, limits(), permission_.lapsed()), now,
        dry_run);
    record = store_.site(id());
    auto status = decide_actions(record, desired(record, stop_reason), *listed, now, limits());
    status.other_trainer = std::move(other);
    set_status(status);
    if (dry_run) return {true, stored};
    for (auto const& action : status.actions)
        if (action.type != plan::ActionType::wait)
            stored = first_error(carry_out(action, signal_now), stored);
    return {true, first_error(stored, ask_accounting(now))};
}

Result<void> SitePoller::ask_accounting(Time now)
{
    // An answer covers the time since the one before it, and a little more.
    constexpr std::chrono::hours day{24};
    auto const record = store_.site(id());
    if (!record.accounted) return store_.set_accounted(id(), now, false, {});
    bool const is_over = is_complete() && is_idle();
    bool const is_due = now - *record.accounted >= day || (is_over && !record.accounted_at_end);
    if (!is_due || (is_over && record.accounted_at_end)) return {};
    auto jobs = parts_.launcher->accounted_jobs(*record.accounted - day);
    if (jobs && !*jobs) return store_.set_accounted(id(), now, is_over, {});
    runlog::Accounting accounting;
    if (!jobs) accounting.why = jobs.error().message();
    else accounting.jobs = std::move(**jobs);
    return store_.set_accounted(id(), now, is_over,
                                {runlog::to_event(accounting, now, id().value)});
}

Result<void> SitePoller::add_forgotten(plan::SiteState& known, std::vector<plan::Job>& listed,
                                       Time now)
{
    Result<void> found;
    for (auto& tracked : known.jobs) {
        if (plan::find(listed, tracked) != nullptr) continue;
        auto const trainer = trainer_of(tracked.submission());
        auto past = parts_.launcher->past_job({tracked.id, tracked.intent, tracked.submitted,
                                               tracked.running_since,
                                               last_sign_of(tracked.submission(), trainer), now});
        auto const own = end_of_trainer(tracked, trainer);
        if (!past && !own) {
            if (plan::note_missing(tracked, now, limits()))
                log_.warning(id().value + ": " + gone_text(tracked, past.error(), now));
            else found = first_error(found, tl::unexpected(past.error()));
        }
        if (past)
            for (auto const& doubt : past->doubts) log_.warning(id().value + ": " + doubt);
        auto job = past && past->job ? past->job : own;
        if (job) listed.push_back(std::move(*job));
    }
    return found;
}

std::optional<Time> SitePoller::last_sign_of(plan::Submission const& job,
                                             TrainerRecord const& trainer) const
{
    auto last = trainer.last_event;
    auto const status = runlog::read_trainer_status(parts_.folder / "status.json");
    if (status && status->job == job.id.value && is_after_submission(job, status->time))
        last = std::max(last.value_or(status->time), status->time);
    return last;
}

std::string SitePoller::canceller_of(plan::TrackedJob const& tracked, Time now)
{
    auto const past =
        parts_.launcher->past_job({tracked.submission(), tracked.running_since, std::nullopt, now});
    return past && past->job ? past->job->cancelled_by : "";
}

void SitePoller::add_causes(plan::SiteState const& known, std::vector<plan::Job>& listed, Time now)
{
    for (auto& job : listed) {
        if (job.state != plan::Job::State::ended || !plan::is_tracked(known, job)) continue;
        if (job.end == plan::Job::End::failed)
            job.cause = launch::cause_in_log(parts_.launcher->log_file(job.id));
        if (job.end == plan::Job::End::cancelled)
            job.stopped_by_poller = store_.has_stopped({job.id, job.intent, job.submitted});
        if (job.end == plan::Job::End::cancelled && !job.stopped_by_poller &&
            job.cancelled_by.empty())
            job.cancelled_by = canceller_of(*plan::find(known, job), now);
        // A trainer also ends well, however soon, because the run is complete.
        if (job.end == plan::Job::End::clean)
            job.stopped_on_request =
                is_complete() || !trainer_of({job.id, job.intent, job.submitted}).cause.empty();
    }
}

TrainerRecord SitePoller::trainer_of(plan::Submission const& job) const
{
    auto const file = runlog::read_events(parts_.folder / "events.jsonl");
    return file ? find_trainer(file->events, job) : TrainerRecord{};
}

std::optional<OtherTrainer> SitePoller::other_trainer(plan::SiteState const& known,
                                                      std::vector<plan::Job> const& listed,
                                                      Time now) const
{
    auto const status = runlog::read_trainer_status(parts_.folder / "status.json");
    if (!status || !is_other_trainer(*status, known, listed, now)) return std::nullopt;
    auto const record = trainer_of({{status->job}});
    if (record.ended) return std::nullopt;
    return OtherTrainer{status->job, record.started};
}

Result<void> SitePoller::store_observation(JobObservation observation, Time now, bool dry_run)
{
    auto holds = update_holds(id(), store_.site(id()), observation.hold, decisions(), now);
    if (holds.resumed) plan::forget_failures(observation.state);
    for (auto const& line : observation.warnings) log_.warning(line);
    // A dry run stores nothing, so it would repeat these lines.
    if (!dry_run)
        for (auto const& line : holds.log) log_.warning(line);
    observation.events.insert(observation.events.end(), holds.events.begin(), holds.events.end());
    return store_.set_jobs(id(), std::move(observation.state), std::move(holds.holds),
                           std::move(observation.events));
}

bool SitePoller::is_still_wanted(plan::Action const& submission) const
{
    auto stop_reason = StopReason::none;
    {
        std::lock_guard const guard(mutex_);
        stop_reason = stop_reason_;
    }
    auto const wanted = desired(store_.site(id()), stop_reason);
    return wanted.job && wanted.window == submission.window;
}

Result<void> SitePoller::carry_out(plan::Action const& action, Time signal_now)
{
    if (auto confirmed = store_.confirm_lock(); !confirmed) return confirmed;
    bool const submits = action.type == plan::ActionType::submit;
    // Listing the jobs may have taken seconds.
    if (submits && !is_still_wanted(action)) return {};
    // A submission waits until its permission and its intent are on disk. A stop waits for nothing:
    // stopping a job twice does no harm.
    auto intended = submits ? renew_permission(signal_now, StopReason::none) : Result<void>{};
    if (intended) intended = store_intent(action);
    if (!intended && submits) return intended;
    auto const outcome = launch(action);
    auto const text = action_text(id(), action, outcome);
    if (outcome.status == plan::Outcome::Status::done) log_.info(text);
    else log_.warning(text);
    return first_error(intended, store_outcome(action, outcome));
}

plan::Outcome SitePoller::launch(plan::Action const& action)
{
    auto& launcher = *parts_.launcher;
    plan::JobId submitted;
    Result<void> done;
    if (action.type == plan::ActionType::submit) {
        auto const job = launcher.submit(action.window, action.intent);
        if (job) submitted = *job;
        else done = tl::unexpected(job.error());
    } else if (action.type == plan::ActionType::drain) {
        done = launcher.drain(action.job);
    } else {
        done = launcher.cancel(action.job, action.type == plan::ActionType::cancel_pending);
    }
    if (!done) {
        std::lock_guard const guard(mutex_);
        findings_.jobs.action_error = done.error();
    }
    return outcome_of(done, submitted);
}

Result<void> SitePoller::store_intent(plan::Action const& action)
{
    auto const now = real_now();
    JournalStep step{
        {0, now, id(), action, {}}, plan::begin(store_.site(id()).jobs, action, now), {}};
    step.only_if_written = action.type == plan::ActionType::submit;
    return store_.append(std::move(step));
}

Result<void> SitePoller::store_outcome(plan::Action const& action, plan::Outcome const& outcome)
{
    auto const now = real_now();
    auto update = plan::finish(store_.site(id()).jobs, action, outcome, now, limits());
    for (auto& event : update.events)
        if (runlog::is_stop(event.type)) event.by = "the poller of " + permission::this_person();
    bool const has_events = !update.events.empty();
    auto const written = store_.append({{0, now, id(), action, outcome},
                                        std::move(update.state),
                                        runlog::to_events(update.events, now, id().value)});
    return written && !has_events ? written : store_.save();
}

bool SitePoller::is_idle() const
{
    auto const jobs = store_.site(id()).jobs;
    return jobs.jobs.empty() && !jobs.intent;
}

PollFindings SitePoller::findings() const
{
    std::lock_guard const guard(mutex_);
    return findings_;
}

}  // namespace curtail::poll
