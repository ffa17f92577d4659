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
        if (runlog::trainer_exit_in(event)) job.exit = event.time;
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
        jobs_.push_back({.job = job, .begin = event.time});
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
        auto const change = runlog::job_change_in(event);
        if (!change || change->job.empty()) return;
        if (change->type == JobChange::Type::submitted) submitted_[change->job] = event.time;
        else if (change->type == JobChange::Type::started) begin(event, *change);
        else if (change->type != JobChange::Type::drained) end(event, *change);
    }

  private:
    // A launcher may count in whole seconds. No job begins before it is submitted, or before its
    // window opens.
    [[nodiscard]] Time begin_of(Event const& event, JobChange const& change) const
    {
        auto const submitted = submitted_.find(change.job);
        Time const earliest = submitted != submitted_.end() ? submitted->second : opened_;
        return std::min(event.time, std::max(earliest, change.at.value_or(event.time)));
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
            if (job == nullptr) {
                jobs_.push_back({.job = change.job, .begin = at});
                return;
            }
            job->job = change.job;
        }
        job->begin = std::min(job->begin, at);
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
        // The launcher's time; a cancelled job has none.
        bool const is_end = change.type != JobChange::Type::cancelled;
        auto const reported = is_end ? change.at : std::nullopt;
        if (!reported && job->exit) return;
        job->end = std::max({job->begin, job->exit.value_or(job->begin),
                             std::min(reported.value_or(event.time), event.time)});
    }

    std::vector<JobTimeline>& jobs_;
    Time opened_{Time::min()};
    std::map<std::string, Time> submitted_;
};

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

// The last step that a job logged, or its begin if it logged none.
Time last_step_of(JobTimeline const& job, Time end, StepsByTime const& steps)
{
    auto const mine = steps.between(job.begin, end + Millis{1});
    return mine.empty() ? job.begin : mine.back().time;
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

}  // namespace

std::vector<JobTimeline> jobs_of(std::vector<Event> const& own, std::vector<Event> const& poller,
                                 SiteId const& site)
{
    TrainerLog trainers;
    for (auto const& event : own) trainers.add(event);
    auto jobs = trainers.take_jobs();
    JobTimes times(jobs);
    for (auto const& event : poller)
        if (event.site == site.value) times.add(event);
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](JobTimeline const& a, JobTimeline const& b) { return a.begin < b.begin; });
    return separated(std::move(jobs));
}

std::vector<energy::StateInterval> states_of(JobTimeline const& job, StepsByTime const& steps,
                                             Time run_end)
{
    Time const end = job.end.value_or(run_end);
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
        if (killed) out.add(PowerState::idle, trained_until, to);
    }
    out.add(PowerState::draining, exit, end);
    return out.take();
}

}  // namespace curtail::account
