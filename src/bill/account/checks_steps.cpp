// SPDX-License-Identifier: Apache-2.0
#include "bill/account/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bill/account/text.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using energy::PowerState;

void check_steps_in_jobs(Doubts& doubts, SiteRecords const& r)
{
    FractionalSeconds outside{0};
    Contradictions steps;
    for (auto const& step : r.files.metrics) {
        auto const when = interval_of(step);
        auto const missing =
            when.length() - r.states.time_in(when, [](PowerState) { return true; });
        if (missing <= std::min<FractionalSeconds>(rounding, when.length() / 2)) continue;
        outside += missing;
        steps.add(when);
    }
    if (steps.count == 0) return;
    doubts.push_back(
        {r.index, Bound::at_least, "Steps outside all jobs",
         fmt::format("{}: steps of {:.1f} s in metrics.jsonl lie outside all jobs that "
                     "its events show, {}. Their energy is missing.",
                     r.name(), outside.count(), span_text(steps.when))});
}

// Steps of one trainer follow each other.
void check_one_trainer(Doubts& doubts, SiteRecords const& r)
{
    auto steps = r.files.metrics;
    std::ranges::stable_sort(steps, {}, [](auto const& step) { return interval_of(step).from; });
    FractionalSeconds twice{0};
    Contradictions overlaps;
    Time until = steps.empty() ? Time{} : interval_of(steps.front()).from;
    for (auto const& step : steps) {
        auto const when = interval_of(step);
        if (auto const both = std::min(until, when.to) - when.from; both > Millis{10}) {
            twice += both;
            overlaps.add({when.from, std::min(until, when.to)});
        }
        until = std::max(until, when.to);
    }
    if (twice <= rounding) return;
    doubts.push_back(
        {r.index, r.matters(twice) ? Bound::at_least : Bound::exact, "Two trainers at once",
         fmt::format("{}: metrics.jsonl has steps of two trainers at the same time for "
                     "{:.1f} s, {}. Only one of them is billed.",
                     r.name(), twice.count(), span_text(overlaps.when))});
}

// The time in which a job trained, by the states that its trainer logged, and by its steps.
struct TrainedTime {
    FractionalSeconds states{0};
    FractionalSeconds steps{0};
    FractionalSeconds longest{0};
    FractionalSeconds count{0};  // one second per step
    Time last{Time::min()};      // the end of the last step
};

bool is_pause(PowerState state)
{
    return state == PowerState::frozen || state == PowerState::suspended;
}

// How long a step ran, without the time in which its processes did not.
FractionalSeconds run_time(SiteRecords const& r, StepMetrics const& step)
{
    return step.duration - r.states.time_in(interval_of(step), is_pause);
}

TrainedTime trained_time(SiteRecords const& r, energy::Interval job)
{
    TrainedTime time;
    time.states = r.states.time_in(job, [](PowerState state) {
        return state == PowerState::training || state == PowerState::stalled;
    });
    for (auto const& step : r.steps.between(job.from, job.to + Millis{1})) {
        time.steps += run_time(r, step);
        time.longest = std::max(time.longest, step.duration);
        time.count += Seconds{1};
        time.last = step.time;
    }
    return time;
}

void check_training_time(Doubts& doubts, SiteRecords const& r)
{
    // Between a state and its first step, the trainer writes a line of a log.
    constexpr FractionalSeconds least{0.25};
    // Logs have whole milliseconds.
    constexpr double per_step = 0.001;
    for (auto const& job : r.timeline.jobs) {
        energy::Interval const when{job.begin, job.end.value_or(r.run_end)};
        auto const time = trained_time(r, when);
        // Nobody logged how the last step of a killed trainer, or of a running one, ended. One that
        // failed may have waited for a step that never ended.
        auto const difference = time.states - time.steps;
        auto cut = job.exit && !job.failed ? FractionalSeconds{0} : time.longest;
        if (job.exit && job.failed && time.count.count() > 0)
            cut = std::max<FractionalSeconds>(cut, *job.exit - time.last);
        auto const allowed = least + per_step * time.count +
                             tolerance * std::max(time.states, time.steps) +
                             (difference.count() > 0 ? cut : FractionalSeconds{0});
        if (std::chrono::abs(difference) <= allowed) continue;
        doubts.push_back(
            {r.index, difference.count() < 0 ? Bound::at_least : Bound::uncertain,
             "States and steps differ",
             fmt::format("{}: by events.jsonl, {} trained for {:.1f} s, and by metrics.jsonl "
                         "for {:.1f} s, {}. One of the two files lacks lines or was changed, or "
                         "the trainer waited between its steps.",
                         r.name(), job_text(job), time.states.count(), time.steps.count(),
                         span_text(when))});
    }
}

// A trainer that did not run logged nothing meanwhile.
void check_frozen(Doubts& doubts, SiteRecords const& r, JobTimeline const& job,
                  energy::Interval frozen)
{
    // It notices a gap with this precision.
    constexpr Millis precision{1'000};
    energy::Interval const inside{frozen.from + precision, frozen.to - precision};
    if (inside.from >= inside.to) return;
    Contradictions lines;
    for (auto const& step : r.steps.between(inside.from, inside.to)) lines.add(step.time);
    for (auto const& event : r.files.events)
        if (event.time >= inside.from && event.time < inside.to) lines.add(event.time);
    if (lines.count == 0) return;
    doubts.push_back(
        {r.index, r.matters(frozen.length()) ? Bound::at_least : Bound::exact,
         "Lines of a frozen trainer",
         fmt::format("{}: {} lines of events.jsonl and metrics.jsonl, {}, are from a time in which "
                     "{} did not run, by its event frozen: {}. One of them was changed.",
                     r.name(), lines.count, span_text(lines.when), job_text(job),
                     span_text(frozen))});
}

// Nobody knows what the devices did in a step that took much longer than the others.
void check_stalled(Doubts& doubts, SiteRecords const& r)
{
    Contradictions stalls;
    FractionalSeconds time{0};
    for (auto const& [state, when] : r.timeline.held_real)
        if (state == PowerState::stalled) {
            stalls.add(when);
            time += when.length();
        }
    if (stalls.count == 0) return;
    doubts.push_back({r.index, Bound::exact, "Stalled steps",
                      fmt::format("{}: {} of its steps in metrics.jsonl took much longer than the "
                                  "others, {}. The bill has the power of training for {:.1f} s in "
                                  "which its devices may have been idle.",
                                  r.name(), stalls.count, span_text(stalls.when), time.count())});
}

// No site needs less energy than its tokens at the rate and power of its own steps.
void check_least_energy(Doubts& doubts, SiteRecords const& r)
{
    WattHours trained{};
    Tokens tokens;
    for (auto const& step : r.files.metrics) {
        trained += r.power_at(PowerState::training, step.time) * run_time(r, step);
        tokens += step.tokens;
    }
    if (tokens <= Tokens{} || r.in_model <= Tokens{}) return;
    // Steps differ from each other.
    constexpr double least_share = 0.98;
    auto const least = ratio(std::min(r.in_model, tokens), tokens) * trained;
    if (r.drawn.value >= least_share * least.value) return;
    doubts.push_back(
        {r.index, Bound::at_least, "Too little energy",
         fmt::format("{}: {:.4g} kWh are billed, and its {} tokens in the model need {:.4g} kWh at "
                     "the rate and power of its steps. Its events lack states.",
                     r.name(), r.drawn.value / 1000, grouped(r.in_model.value),
                     least.value / 1000)});
}

// The largest batch that was in force from the begin of a job to `until`.
Tokens largest_batch(SiteRecords const& r, JobTimeline const& job, Time until)
{
    auto const& settings = r.timeline.settings;
    auto largest = settings.pace_at(job.begin).batch_tokens;
    for (auto const& pace : settings.paces)
        if (pace.from > job.begin && pace.from <= until)
            largest = std::max(largest, pace.batch_tokens);
    return largest;
}

// A step has a whole batch at most.
Contradictions too_large_steps(SiteRecords const& r)
{
    Contradictions found;
    for (auto const& job : r.timeline.jobs)
        for (auto const& step : r.steps.between(job.begin, job.end.value_or(r.run_end) + Millis{1}))
            if (step.tokens > largest_batch(r, job, step.time)) found.add(interval_of(step));
    return found;
}

// A trainer counts its steps. It begins again with 1 if it joins the run again.
Contradictions misnumbered_steps(SiteRecords const& r)
{
    Contradictions found;
    for (auto const& job : r.timeline.jobs) {
        StepMetrics const* before = nullptr;
        for (auto const& step :
             r.steps.between(job.begin, job.end.value_or(r.run_end) + Millis{1})) {
            bool const follows =
                before == nullptr || step.step == before->step + 1 || step.step == 1;
            if (!follows) found.add({interval_of(*before).from, step.time});
            before = &step;
        }
    }
    return found;
}

// A trainer waits after each step until its pace is reached. Without a log, the present pace may be
// that of another time.
Contradictions too_fast_steps(SiteRecords const& r)
{
    Contradictions found;
    if (!r.timeline.settings.is_logged) return found;
    for (auto const& pace : r.timeline.paces)
        for (auto const& when : pace.faster) found.add(when);
    return found;
}

// Adds a doubt about steps that contradict the settings or the steps before.
void add_contradictions(Doubts& doubts, SiteRecords const& r, Contradictions const& found,
                        char const* title, char const* what)
{
    if (found.count == 0) return;
    auto const all = static_cast<double>(r.files.metrics.size());
    bool const matters = static_cast<double>(found.count) > tolerance * all;
    doubts.push_back(
        {r.index, matters ? Bound::uncertain : Bound::exact, title,
         fmt::format("{}: {} of {} steps in metrics.jsonl {}, {}. Lines are missing or "
                     "were changed, so rates are wrong.",
                     r.name(), found.count, r.files.metrics.size(), what, span_text(found.when))});
}

}  // namespace

void check_steps(Doubts& doubts, SiteRecords const& r)
{
    check_steps_in_jobs(doubts, r);
    check_one_trainer(doubts, r);
    check_training_time(doubts, r);
    for (auto const& job : r.timeline.jobs)
        for (auto const& frozen : job.frozen) check_frozen(doubts, r, job, frozen);
    check_stalled(doubts, r);
    check_least_energy(doubts, r);
    add_contradictions(doubts, r, too_large_steps(r), "Steps are too large",
                       "have more tokens than training.batch_tokens in force");
    add_contradictions(doubts, r, too_fast_steps(r), "Steps are too fast",
                       "took less time than training.step_at_least_s, which was logged before");
    add_contradictions(doubts, r, misnumbered_steps(r), "Steps are misnumbered",
                       "do not have the number after that of the step before");
}

}  // namespace curtail::account
