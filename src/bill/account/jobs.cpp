// SPDX-License-Identifier: Apache-2.0
#include "bill/account/jobs.hpp"

#include <algorithm>
#include <map>

#include "run/runlog/poller_events.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

using energy::PowerState;
using runlog::JobChange;

// Collects the jobs of a site from its trainers' own events.
class TrainerLog {
  public:
    void add(Event const& event)
    {
        if (auto const start = runlog::trainer_start_in(event)) {
            if (started_ || is_new(start->job)) add_job(event, start->job);
            started_ = true;
        } else if (auto const change = runlog::state_change_in(event)) take(event, *change);
        if (jobs_.empty()) return;
        auto& job = jobs_.back();
        job.last_event = event.time;
        if (runlog::is_stop_request(event) && !job.stop_requested) job.stop_requested = event.time;
        if (auto const exit = runlog::trainer_exit_in(event)) {
            job.exit = event.time;
            job.failed = exit->code != ExitCode::ok;
        }
        if (auto const frozen = runlog::frozen_in(event))
            job.frozen.push_back({frozen->from, frozen->to});
    }

    [[nodiscard]] std::vector<JobTimeline> take_jobs()
    {
        for (auto& job : jobs_) job.end = job.exit;
        return std::move(jobs_);
    }

  private:
    void take(Event const& event, runlog::StateChange const& change)
    {
        // A trainer logs `starting` once, before its other states.
        auto const is_another_trainer = [&] {
            return change.state == energy::name(PowerState::starting) &&
                   !jobs_.back().states.empty();
        };
        if (is_new(change.job) || is_another_trainer()) {
            if (change.state == runlog::ended_state) return;
            add_job(event, change.job);
        }
        if (change.state == runlog::ended_state) jobs_.back().exit = event.time;
        else if (!change.state.empty()) jobs_.back().states.emplace_back(event.time, change.state);
    }

    [[nodiscard]] bool is_new(std::string const& job) const
    {
        return jobs_.empty() || jobs_.back().exit ||
               (!job.empty() && !jobs_.back().job.empty() && job != jobs_.back().job);
    }

    void add_job(Event const& event, std::string const& job)
    {
        jobs_.push_back({.job = job, .begin = event.time, .first_event = event.time});
        started_ = false;
    }

    std::vector<JobTimeline> jobs_;
    bool started_{false};  // the last job has logged its trainer-start
};

// Adds to the jobs when the poller saw, and the launcher reported, that devices were allocated and
// released.
class JobTimes {
  public:
    explicit JobTimes(std::vector<JobTimeline>& jobs) : jobs_(jobs) {}

    void add(Event const& event)
    {
        if (auto const window = runlog::window_change_in(event); window && window->opens)
            opened_ = event.time;
        if (auto const state = runlog::job_state_change_in(event)) change_state(event, *state);
        auto const change = runlog::job_change_in(event);
        if (!change || change->job.empty()) return;
        if (change->type == JobChange::Type::submitted) submitted_[change->job] = event.time;
        else if (change->type == JobChange::Type::started) begin(event, *change);
        else if (change->type != JobChange::Type::drained) end(event, *change);
    }

  private:
    // A launcher may count in whole seconds. No job begins before it is submitted, or before its
    // window opens. The poller's clock may be slightly wrong, so the launcher's time comes first.
    [[nodiscard]] Time begin_of(Event const& event, JobChange const& change) const
    {
        auto const submitted = submitted_.find(change.job);
        Time const earliest = submitted != submitted_.end() ? submitted->second : opened_;
        bool const is_known = change.at && !is_after_report(*change.at, event, change.job);
        return std::max(earliest, is_known ? *change.at : event.time);
    }

    // Nobody reports a time that has not come yet. A report that seems to be earlier than the job's
    // submission shows a clock that was set back.
    [[nodiscard]] bool is_after_report(Time reported, Event const& event,
                                       std::string const& job) const
    {
        auto const submitted = submitted_.find(job);
        Time const at =
            submitted != submitted_.end() ? std::max(submitted->second, event.time) : event.time;
        return reported > at + usual_difference;
    }

    // Returns the time that the launcher reports, unless it is later than its report.
    std::optional<Time> believed(JobTimeline& job, Event const& event,
                                 std::optional<Time> const& reported, char const* what) const
    {
        if (!reported || !is_after_report(*reported, event, job.job)) return reported;
        job.doubts.push_back("the poller's events.jsonl reports that job " + job.job + " " + what +
                             " at a time after the report, from " + format_time(event.time) +
                             " to " + format_time(*reported) + "; the bill has another source");
        return std::nullopt;
    }

    // Returns the job of that id that begins nearest to `time`. A cluster that was set up again
    // reuses its ids.
    [[nodiscard]] JobTimeline* nearest(std::string const& id, Time time) const
    {
        JobTimeline* found = nullptr;
        auto const distance = [&](JobTimeline const& job) {
            return std::chrono::abs(job.begin - time);
        };
        for (auto& job : jobs_)
            if (job.job == id && (found == nullptr || distance(job) < distance(*found)))
                found = &job;
        return found;
    }

    // Returns the job without an id that has devices at `time`.
    [[nodiscard]] JobTimeline* unnamed_at(Time time) const
    {
        auto const found = std::find_if(jobs_.begin(), jobs_.end(), [&](JobTimeline const& job) {
            return job.job.empty() && job.begin <= time && (!job.end || time < *job.end);
        });
        return found != jobs_.end() ? &*found : nullptr;
    }

    void begin(Event const& event, JobChange const& change)
    {
        Time const at = begin_of(event, change);
        auto* job = nearest(change.job, event.time);
        if (job == nullptr) {
            job = unnamed_at(event.time);
            if (job == nullptr)
                job = &jobs_.emplace_back(JobTimeline{.job = change.job, .begin = at});
            job->job = change.job;
        }
        job->begin = std::min(job->begin, at);
        report_begin(*job, event, change);
    }

    void report_begin(JobTimeline& job, Event const& event, JobChange const& change) const
    {
        if (auto const submitted = submitted_.find(change.job); submitted != submitted_.end())
            job.reported.submitted = job.reported.submitted.value_or(submitted->second);
        auto const started = believed(job, event, change.at, "started");
        if (started) job.reported.started = job.reported.started.value_or(*started);
    }

    // Returns the last job of that id that began until `time`.
    [[nodiscard]] JobTimeline* last_begun(std::string const& id, Time time) const
    {
        JobTimeline* last = nullptr;
        for (auto& job : jobs_)
            if (job.job == id && job.begin <= time && (last == nullptr || job.begin >= last->begin))
                last = &job;
        return last;
    }

    void end(Event const& event, JobChange const& change)
    {
        auto* job = last_begun(change.job, event.time);
        if (job == nullptr) return;
        auto& known = job->reported;
        // A cancelled job has no time of the launcher.
        bool const is_end = change.type != JobChange::Type::cancelled;
        auto const ended = believed(*job, event, is_end ? change.at : std::nullopt, "ended");
        if (ended) known.ended = std::min(*ended, event.time);
        if (is_end) known.gone = event.time;
        known.was_stopped = change.state != "COMPLETED" && change.state != "FAILED";
        if (!known.noticed) known.noticed = event.time;
        if (change.latest) known.latest = change.latest;
        if (!job->suspended.empty())
            job->suspended.back().to = std::min(job->suspended.back().to, event.time);
    }

    void change_state(Event const& event, runlog::JobStateChange const& change)
    {
        if (change.state == "RUNNING") start_again(event, change);
        auto* job = last_begun(change.job, event.time);
        if (job == nullptr) return;
        if (change.state == "SUSPENDED" || change.state == "STOPPED")
            job->suspended.push_back({event.time, Time::max()});
        else if (!job->suspended.empty())
            job->suspended.back().to = std::min(job->suspended.back().to, event.time);
        // Slurm took the devices away, and starts the job again later.
        bool const waits = change.state == "PENDING" || change.state == "REQUEUED";
        if (!waits) return;
        if (!job->reported.noticed) job->reported.noticed = event.time;
        waits_[change.job] = event.time;
    }

    // A requeued job has devices again. Its new trainer may log something much later, or never.
    void start_again(Event const& event, runlog::JobStateChange const& change)
    {
        auto const waits = waits_.find(change.job);
        if (waits == waits_.end()) return;
        bool const is_known =
            change.started && !is_after_report(*change.started, event, change.job);
        Time const at = std::max(waits->second, is_known ? *change.started : event.time);
        JobTimeline* next = nullptr;
        for (auto& job : jobs_)
            if (job.job == change.job && job.begin >= waits->second &&
                (next == nullptr || job.begin < next->begin))
                next = &job;
        if (next == nullptr)
            next = &jobs_.emplace_back(JobTimeline{.job = change.job, .begin = at});
        next->begin = std::min(next->begin, at);
        next->reported.started = at;
        (void)believed(*next, event, change.started, "started again");
        waits_.erase(waits);
    }

    std::vector<JobTimeline>& jobs_;
    Time opened_{Time::min()};
    std::map<std::string, Time> submitted_;
    std::map<std::string, Time> waits_;  // since when jobs wait that Slurm requeued
};

// The last step that a job logged, or its begin if it logged none.
Time last_step_of(JobTimeline const& job, Time end, StepsByTime const& steps)
{
    auto const mine = steps.between(job.begin, end + Millis{1});
    return mine.empty() ? job.begin : mine.back().time;
}

// Slurm counts in whole seconds.
constexpr Millis rounding{1'000};

// Returns whether `next` is the same job of the cluster, started again. A cluster that was set up
// again reuses its ids, for jobs that are submitted later.
bool is_same_job(JobTimeline const& job, JobTimeline const& next)
{
    auto const& submitted = next.reported.submitted;
    return !job.job.empty() && job.job == next.job && !(submitted && *submitted > job.last_sign);
}

// Decides when a job released its devices. The site's next job begins at `next`.
void set_end(JobTimeline& job, std::optional<Time> const& next)
{
    auto const& report = job.reported;
    auto const last_sign = job.last_sign;
    if (report.ended && *report.ended + rounding > last_sign) {
        job.end = std::max({job.begin, *report.ended, job.exit.value_or(job.begin)});
        return;
    }
    if (report.ended)
        job.doubts.push_back("the launcher says that job " + job.job + " ended at " +
                             format_time(*report.ended) + ", and the site's logs show it at " +
                             format_time(last_sign));
    // A trainer that starts again in the same job gave no device back, as far as anybody knows.
    job.end = job.requeued && !report.noticed ? std::nullopt : job.exit;
    if (job.end) return;
    auto bound = next;
    for (auto const& other : {report.noticed, report.latest})
        if (other) bound = std::min(bound.value_or(*other), *other);
    if (!bound) return;
    job.end_from = last_sign;
    job.end = std::max(*bound, last_sign);
}

// Ends each job at the latest when the next one begins, and leaves out those that began and ended
// beside another one.
std::vector<JobTimeline> separated(std::vector<JobTimeline> jobs)
{
    std::vector<JobTimeline> out;
    for (auto& job : jobs) {
        if (!out.empty()) {
            auto& before = out.back();
            // The trainer of `before` still logged events when `job` had ended.
            if (before.last_event && job.end && *job.end < *before.last_event) {
                before.overlap += *job.end - job.begin;
                continue;
            }
            if (!before.end || *before.end > job.begin) {
                if (before.end) before.overlap += *before.end - job.begin;
                before.end = job.begin;
            }
        }
        out.push_back(std::move(job));
    }
    return out;
}

// Adjoining intervals of a job's states, inside the time in which it held devices.
class StateIntervals {
  public:
    explicit StateIntervals(energy::Interval held) : held_(held) {}

    void add(PowerState state, Time from, Time to)
    {
        from = std::max(from, held_.from);
        to = std::min(to, held_.to);
        if (from >= to) return;
        if (!out_.empty() && out_.back().state == state) out_.back().when.to = to;
        else out_.push_back({state, {from, to}});
    }
    [[nodiscard]] std::vector<energy::StateInterval> take() { return std::move(out_); }

  private:
    energy::Interval held_;
    std::vector<energy::StateInterval> out_;
};

FractionalSeconds frozen_in(JobTimeline const& job, energy::Interval when)
{
    FractionalSeconds sum{0};
    for (auto const& frozen : job.frozen)
        if (overlap(frozen, when))
            sum += std::min(frozen.to, when.to) - std::max(frozen.from, when.from);
    return sum;
}

// The parts of a job's steps that took much longer than the site's other steps. A frozen process
// makes a step long, too: that part is not stalled.
std::vector<energy::Interval> stalls_of(JobTimeline const& job, Time end, StepsByTime const& steps)
{
    constexpr FractionalSeconds least{30};
    auto const usual = steps.median_duration();
    if (!usual) return {};
    std::vector<energy::Interval> stalls;
    for (auto const& step : steps.between(job.begin, end + Millis{1})) {
        auto const limit = std::max(least, 10 * *usual);
        Time const begin = step.time - std::chrono::round<Millis>(step.duration);
        if (step.duration - frozen_in(job, {begin, step.time}) <= limit) continue;
        Time const from = step.time - std::chrono::round<Millis>(step.duration - *usual);
        stalls.push_back({std::max(from, job.begin), step.time});
    }
    return stalls;
}

// Replaces the parts of `states` inside `when` by `state`.
void replace(std::vector<energy::StateInterval>& states, energy::Interval when, PowerState state)
{
    std::vector<energy::StateInterval> out;
    auto const add = [&](PowerState of, Time from, Time to) {
        if (from < to) out.push_back({of, {from, to}});
    };
    for (auto const& s : states) {
        auto const from = std::clamp(when.from, s.when.from, s.when.to);
        auto const to = std::clamp(when.to, from, s.when.to);
        add(s.state, s.when.from, from);
        add(state, from, to);
        add(s.state, to, s.when.to);
    }
    states = std::move(out);
}

bool overlaps_any(energy::Interval when, std::vector<energy::Interval> const& others)
{
    return std::ranges::any_of(others, [&](auto const& other) { return overlap(when, other); });
}

// The states that the trainer logged, and what follows from them.
std::vector<energy::StateInterval> logged_states(JobTimeline const& job, Time end,
                                                 StepsByTime const& steps)
{
    Time const exit = std::min(job.exit.value_or(end), end);
    StateIntervals out({job.begin, end});
    out.add(PowerState::starting, job.begin, job.states.empty() ? exit : job.states.front().first);
    for (std::size_t i = 0; i < job.states.size(); ++i) {
        auto const& [from, name] = job.states[i];
        bool const last = i + 1 == job.states.size();
        Time const to = last ? exit : job.states[i + 1].first;
        auto const state = energy::state_named(name).value_or(PowerState::idle);
        // A killed trainer could not log that it stopped training: it trained until its last step
        // and held devices until the scheduler released them.
        bool const killed = last && !job.exit && state == PowerState::training;
        Time const trained_until =
            std::clamp(last_step_of(job, end, steps), from, std::max(from, to));
        out.add(state, from, killed ? trained_until : to);
        auto const after = job.requeued ? PowerState::requeued : PowerState::idle;
        if (killed) out.add(after, trained_until, to);
    }
    out.add(PowerState::draining, exit, end);
    return out.take();
}

}  // namespace

std::vector<JobTimeline> jobs_of(std::vector<Event> const& own, std::vector<Event> const& poller,
                                 SiteId const& site, StepsByTime const& steps)
{
    TrainerLog trainers;
    for (auto const& event : own) trainers.add(event);
    auto jobs = trainers.take_jobs();
    JobTimes times(jobs);
    for (auto const& event : poller)
        if (event.site == site.value) times.add(event);
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](JobTimeline const& a, JobTimeline const& b) { return a.begin < b.begin; });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto& job = jobs[i];
        auto const next = i + 1 < jobs.size() ? std::optional(jobs[i + 1].begin) : std::nullopt;
        auto const last_step = last_step_of(job, next.value_or(Time::max() - Millis{1}), steps);
        job.last_sign = std::max({job.begin, last_step, job.last_event.value_or(job.begin)});
        job.requeued = next && is_same_job(job, jobs[i + 1]);
        set_end(job, next);
    }
    return separated(std::move(jobs));
}

std::vector<energy::StateInterval> states_of(JobTimeline const& job, StepsByTime const& steps,
                                             Time run_end)
{
    Time const end = job.end.value_or(run_end);
    auto states = logged_states(job, end, steps);
    for (auto const& when : stalls_of(job, end, steps)) replace(states, when, PowerState::stalled);
    // The trainer knows better than the poller, which looks once in a while.
    for (auto const& when : job.suspended)
        if (!overlaps_any(when, job.frozen)) replace(states, when, PowerState::suspended);
    for (auto const& when : job.frozen)
        replace(states, when,
                overlaps_any(when, job.suspended) ? PowerState::suspended : PowerState::frozen);
    return states;
}

}  // namespace curtail::account
