// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "account/timeline.hpp"

namespace curtail::account {
namespace {

using energy::State;

/// A launcher's own time in an event's details; nothing if it told none, or what it told is no
/// time.
std::optional<Time> time_in(Event const& event, char const* key)
{
    auto const* value = event.details.find(key);
    if (value == nullptr || value->as_text() == nullptr) return std::nullopt;
    auto const time = parse_time(*value->as_text());
    return time ? std::optional(*time) : std::nullopt;
}

/// Lives of a site's trainer as it logged them itself.
std::vector<JobStory> lives(std::vector<Event> const& events)
{
    std::vector<JobStory> jobs;
    bool started = false;  // the last life has logged its trainer-start
    for (auto const& event : events) {
        bool const start = event.type == "trainer-start";
        if (start || event.type == "state") {
            auto const job = text_of(event, "job");
            auto const word = text_of(event, "state");
            bool const another =
                jobs.empty() || jobs.back().exit ||
                (!job.empty() && !jobs.back().job.empty() && job != jobs.back().job) ||
                (start && started);
            if (another && word == "ended") continue;
            if (another) {
                jobs.push_back({job, event.time, {}, {}, {}, {}});
                started = false;
            }
            started = started || start;
            if (word == "ended") jobs.back().exit = event.time;
            else if (!word.empty()) jobs.back().states.emplace_back(event.time, word);
        }
        if (jobs.empty()) continue;
        if (event.type == "stop-requested" && !jobs.back().stop_requested)
            jobs.back().stop_requested = event.time;
        if (event.type == "trainer-exit") jobs.back().exit = event.time;
    }
    for (auto& job : jobs) job.end = job.exit;
    return jobs;
}

/// What the poller saw of a site's jobs, and its launcher said of them: when devices were given and
/// taken back.
class JobTimes {
  public:
    explicit JobTimes(std::vector<JobStory>& jobs) : jobs_(jobs) {}

    void see(Event const& event)
    {
        if (event.type == "window-open") opened_ = event.time;
        auto const job = text_of(event, "job");
        if (job.empty()) return;
        if (event.type == "job-submitted") submitted_[job] = event.time;
        if (event.type == "job-started") begin(event, job);
        if (event.type == "job-ended" || event.type == "job-failed" ||
            event.type == "job-cancelled")
            end(event, job);
    }

  private:
    static Millis apart(JobStory const& job, Event const& event)
    {
        return std::chrono::abs(job.begin - event.time);
    }

    void begin(Event const& event, std::string const& job)
    {
        // A launcher may count in whole seconds; no job begins before it is submitted, or before
        // its window opens.
        auto const submitted = submitted_.find(job);
        Time const earliest = submitted != submitted_.end() ? submitted->second : opened_;
        Time const at = std::min(
            event.time, std::max(earliest, time_in(event, "started").value_or(event.time)));
        JobStory* known =
            nullptr;  // numbers may come again when a cluster is made anew: the nearest life counts
        for (auto& j : jobs_)
            if (j.job == job && (known == nullptr || apart(j, event) < apart(*known, event)))
                known = &j;
        auto const unnumbered = std::find_if(jobs_.begin(), jobs_.end(), [&](JobStory const& j) {
            return j.begin <= event.time && (!j.end || event.time < *j.end);
        });
        if (known != nullptr) {
            known->begin = std::min(known->begin, at);
        } else if (unnumbered !=
                   jobs_.end()) {  // the trainer knows itself under another number, or none
            unnumbered->job = job;
            unnumbered->begin = std::min(unnumbered->begin, at);
        } else {
            jobs_.push_back({job, at, {}, {}, {}, {}});
        }
    }

    void end(Event const& event, std::string const& job)
    {
        JobStory* last = nullptr;
        for (auto& j : jobs_)
            if (j.job == job && j.begin <= event.time &&
                (last == nullptr || j.begin >= last->begin))
                last = &j;
        if (last == nullptr) return;
        auto const told = time_in(event, "ended");
        if (!told && last->exit) return;
        last->end = std::max({last->begin, last->exit.value_or(last->begin),
                              std::min(told.value_or(event.time), event.time)});
    }

    std::vector<JobStory>& jobs_;
    Time opened_{Time::min()};
    std::map<std::string, Time> submitted_;
};

/// The last step that a life logged; its begin if it logged none.
Time last_step_of(JobStory const& job, Time end, std::vector<StepMetrics> const& rows)
{
    Time last = job.begin;
    for (auto const& row : rows)
        if (row.time >= job.begin && row.time <= end) last = std::max(last, row.time);
    return last;
}

}  // namespace

std::string text_of(Event const& event, char const* key)
{
    auto const* value = event.details.find(key);
    if (value == nullptr || value->is_null()) return "";
    return value->as_text() != nullptr ? *value->as_text() : json::to_string(*value);
}

std::vector<JobStory> jobs_of(std::vector<Event> const& own, std::vector<Event> const& poller,
                              SiteId const& site)
{
    auto jobs = lives(own);
    JobTimes times(jobs);
    for (auto const& event : poller)
        if (event.site == site.value) times.see(event);
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](JobStory const& a, JobStory const& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < jobs.size(); ++i) {
        auto& before = jobs[i - 1];
        if (before.end && *before.end <= jobs[i].begin) continue;
        before.cut = before.end ? *before.end - jobs[i].begin : Millis{0};
        before.end = jobs[i].begin;
    }
    return jobs;
}

std::vector<energy::StateInterval> states_of(JobStory const& job,
                                             std::vector<StepMetrics> const& rows, Time run_end)
{
    Time const end = job.end.value_or(run_end);
    Time const silent = std::min(job.exit.value_or(end), end);
    std::vector<energy::StateInterval> out;
    auto const add = [&](State state, Time from, Time to) {
        from = std::max(from, job.begin);
        to = std::min(to, end);
        if (from >= to) return;
        if (!out.empty() && out.back().state == state) out.back().when.to = to;
        else out.push_back({state, {from, to}});
    };
    add(State::starting, job.begin, job.states.empty() ? silent : job.states.front().first);
    for (std::size_t i = 0; i < job.states.size(); ++i) {
        auto const& [from, word] = job.states[i];
        bool const last = i + 1 == job.states.size();
        Time const to = last ? silent : job.states[i + 1].first;
        auto const state = energy::state_named(word).value_or(State::idle);
        // Who was killed could not say that it trains no more: it did so until its last step, and
        // held devices until they were taken.
        Time const trained = std::clamp(last_step_of(job, end, rows), from, std::max(from, to));
        bool const cut = last && !job.exit && state == State::training;
        add(state, from, cut ? trained : to);
        if (cut) add(State::idle, trained, to);
    }
    add(State::draining, silent, end);
    return out;
}

}  // namespace curtail::account
