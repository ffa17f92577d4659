// SPDX-License-Identifier: Apache-2.0
// Compares the records of a run with each other. What one record says about the energy, another one
// confirms; if it does not, the bill says so.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/core/text.hpp"

#include "bill/account/billing.hpp"
#include "bill/account/text.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using energy::PowerState;

constexpr double tolerance = energy::Tally::most_unknown;
// Slurm counts in whole seconds.
constexpr Seconds rounding{1};

double seconds(FractionalSeconds duration) { return duration.count(); }

std::string span_text(energy::Interval when)
{
    return "from " + format_time(when.from) + " to " + format_time(when.to);
}

// One site, with what the checks compare.
struct SiteRecords {
    std::size_t index;
    config::Site const& site;
    SiteFiles const& files;
    SiteTimeline const& timeline;
    Tokens in_model;

    [[nodiscard]] std::string name() const { return site.site.value; }
};

energy::Interval interval_of(StepMetrics const& step)
{
    return {step.time - std::chrono::round<Millis>(step.duration), step.time};
}

FractionalSeconds part_inside(energy::Interval when, std::vector<energy::StateInterval> const& all)
{
    FractionalSeconds inside{0};
    for (auto const& s : all)
        if (overlap(s.when, when))
            inside += std::min(s.when.to, when.to) - std::max(s.when.from, when.from);
    return inside;
}

// The power of a site at a real time; 0 if it is unknown.
Watts power_at(SiteRecords const& r, PowerState state, Time time)
{
    auto const& site = r.timeline.settings.at(time);
    auto power = power_of(r.timeline, site);
    if (!power) return {};
    for (auto const& change : site.later_pues)
        if (change.from <= time) power->pue = change.pue;
    return power->of(state);
}

void check_steps_in_jobs(std::vector<Doubt>& doubts, SiteRecords const& r)
{
    FractionalSeconds outside{0};
    std::optional<energy::Interval> where;
    for (auto const& step : r.files.metrics) {
        auto const when = interval_of(step);
        auto const missing = when.length() - part_inside(when, r.timeline.held_real);
        if (missing <= std::min<FractionalSeconds>(rounding, when.length() / 2)) continue;
        outside += missing;
        where = {std::min(where.value_or(when).from, when.from),
                 std::max(where.value_or(when).to, when.to)};
    }
    if (!where) return;
    doubts.push_back(
        {r.index, Bound::at_least, "Steps outside all jobs",
         fmt::format("{}: steps of {:.1f} s in metrics.jsonl lie outside all jobs that "
                     "its events show, {}. Their energy is missing.",
                     r.name(), seconds(outside), span_text(*where))});
}

// What a journal lacks cannot be in the bill.
void check_journal(std::vector<Doubt>& doubts, SiteRecords const& r)
{
    auto const& publication = r.files.publication;
    for (auto const& problem : publication.problems)
        doubts.push_back({r.index, publication.lacks_lines ? Bound::uncertain : Bound::exact,
                          "Damaged journal", problem + "."});
}

// Steps of one trainer follow each other.
void check_one_trainer(std::vector<Doubt>& doubts, SiteRecords const& r)
{
    auto steps = r.files.metrics;
    std::ranges::stable_sort(steps, {}, [](auto const& step) { return interval_of(step).from; });
    FractionalSeconds twice{0};
    std::optional<energy::Interval> where;
    Time until = steps.empty() ? Time{} : interval_of(steps.front()).from;
    for (auto const& step : steps) {
        auto const when = interval_of(step);
        if (auto const both = std::min(until, when.to) - when.from; both > Millis{10}) {
            twice += both;
            where = {std::min(where.value_or(when).from, when.from), std::min(until, when.to)};
        }
        until = std::max(until, when.to);
    }
    if (twice <= rounding) return;
    doubts.push_back(
        {r.index, Bound::at_least, "Two trainers at once",
         fmt::format("{}: metrics.jsonl has steps of two trainers at the same time for "
                     "{:.1f} s, {}. Only one of them is billed.",
                     r.name(), seconds(twice), span_text(*where))});
}

// The time in which a job trained, by the states that its trainer logged, and by its steps.
struct TrainedTime {
    FractionalSeconds states{0};
    FractionalSeconds steps{0};
    FractionalSeconds longest{0};
};

FractionalSeconds idle_part(energy::Interval when, std::vector<energy::StateInterval> const& held)
{
    FractionalSeconds sum{0};
    for (auto const& s : held)
        if ((s.state == PowerState::frozen || s.state == PowerState::suspended) &&
            overlap(s.when, when))
            sum += std::min(s.when.to, when.to) - std::max(s.when.from, when.from);
    return sum;
}

TrainedTime trained_time(SiteRecords const& r, StepsByTime const& steps, energy::Interval job)
{
    TrainedTime time;
    for (auto const& s : r.timeline.held_real)
        if ((s.state == PowerState::training || s.state == PowerState::stalled) &&
            overlap(s.when, job))
            time.states += std::min(s.when.to, job.to) - std::max(s.when.from, job.from);
    for (auto const& step : steps.between(job.from, job.to + Millis{1})) {
        time.steps += step.duration - idle_part(interval_of(step), r.timeline.held_real);
        time.longest = std::max(time.longest, step.duration);
    }
    return time;
}

void check_training_time(std::vector<Doubt>& doubts, SiteRecords const& r, Time run_end)
{
    // Between a state and its first step, the trainer writes a line of a log.
    constexpr FractionalSeconds least{0.25};
    StepsByTime const steps(r.files.metrics);
    for (auto const& job : r.timeline.jobs) {
        energy::Interval const when{job.begin, job.end.value_or(run_end)};
        auto const time = trained_time(r, steps, when);
        // Nobody logged how the last step of a killed trainer, or of a running one, ended.
        auto const cut = job.exit ? FractionalSeconds{0} : time.longest;
        auto const allowed = least + tolerance * std::max(time.states, time.steps) + cut;
        auto const difference = time.states - time.steps;
        if (std::chrono::abs(difference) <= allowed) continue;
        doubts.push_back(
            {r.index, difference.count() < 0 ? Bound::at_least : Bound::uncertain,
             "States and steps differ",
             fmt::format("{}: by events.jsonl, job {} trained for {:.1f} s, and by metrics.jsonl "
                         "for {:.1f} s, {}. One of the two files lacks lines or was changed.",
                         r.name(), job.job.empty() ? "without a number" : job.job,
                         seconds(time.states), seconds(time.steps), span_text(when))});
    }
}

// An end that nobody reported is billed as the latest possible one.
void check_ends(std::vector<Doubt>& doubts, SiteRecords const& r, WattHours drawn)
{
    for (auto const& job : r.timeline.jobs) {
        if (!job.end_from || !job.end || *job.end - *job.end_from <= rounding) continue;
        energy::Interval const when{*job.end_from, *job.end};
        auto const energy = power_at(r, PowerState::idle, when.from) * when.length();
        bool const matters = energy.value > tolerance * drawn.value;
        doubts.push_back(
            {r.index, matters ? Bound::at_most : Bound::exact, "Unknown end of a job",
             fmt::format("{}: nobody reported the end of job {}. It lies {}. The bill "
                         "has the latest: {:.1f} s and {:.4g} kWh of it are in doubt.",
                         r.name(), job.job.empty() ? "without a number" : job.job, span_text(when),
                         seconds(when.length()), energy.value / 1000)});
    }
}

void check_overlaps(std::vector<Doubt>& doubts, SiteRecords const& r, WattHours drawn)
{
    FractionalSeconds both{0};
    WattHours energy{};
    for (auto const& job : r.timeline.jobs)
        if (job.overlap > rounding) {
            both += job.overlap;
            energy += power_at(r, PowerState::training, job.begin) * job.overlap;
        }
    if (both.count() <= 0) return;
    bool const matters = energy.value > tolerance * drawn.value;
    doubts.push_back({r.index, matters ? Bound::at_least : Bound::exact, "Two jobs at once",
                      fmt::format("{}: two jobs held devices at once for {:.1f} real s, as its "
                                  "events show. Only one of them is billed.",
                                  r.name(), seconds(both))});
}

// No site needs less energy than its tokens at the rate and power of its own steps.
void check_least_energy(std::vector<Doubt>& doubts, SiteRecords const& r, WattHours drawn,
                        double clock_factor)
{
    WattHours trained{};
    Tokens tokens;
    for (auto const& step : r.files.metrics) {
        trained += power_at(r, PowerState::training, step.time) *
                   (step.duration - idle_part(interval_of(step), r.timeline.held_real));
        tokens += step.tokens;
    }
    if (tokens <= Tokens{} || r.in_model <= Tokens{}) return;
    // Steps differ from each other.
    constexpr double least_share = 0.98;
    auto const least = clock_factor * ratio(std::min(r.in_model, tokens), tokens) * trained;
    if (drawn.value >= least_share * least.value) return;
    doubts.push_back(
        {r.index, Bound::at_least, "Too little energy",
         fmt::format("{}: {:.4g} kWh are billed, and its {} tokens in the model need {:.4g} kWh at "
                     "the rate and power of its steps. Its events lack states.",
                     r.name(), drawn.value / 1000, grouped(r.in_model.value), least.value / 1000)});
}

// The bill has the settings that were in force. The present files may differ from them.
void check_settings(std::vector<Doubt>& doubts, SiteRecords const& r)
{
    auto const& settings = r.timeline.settings;
    auto const add = [&](Bound bound, char const* title, std::string const& text) {
        doubts.push_back({r.index, bound, title, r.name() + ": " + text});
    };
    if (!settings.problem.empty())
        add(Bound::uncertain, "Unusable settings",
            settings.problem + ". The bill has the settings before.");
    for (std::size_t i = 1; i < settings.all.size(); ++i)
        add(Bound::exact, "Settings have changed",
            fmt::format("{} changed at {}. The bill has each value while it was in force.",
                        differences(settings.all[i - 1].site, settings.all[i].site),
                        format_time(settings.all[i].from)));
    if (!settings.is_logged) return;
    if (auto const what = differences(settings.last(), r.site); !what.empty())
        add(Bound::exact, "Settings differ",
            fmt::format("{} of the present site file differ from {}, which was in force from {} "
                        "on. The bill has those in force. --recalculate makes a second bill with "
                        "the present ones.",
                        what, settings.file, format_time(settings.logged)));
}

// Always-on and the loss have the pace that was in force.
void check_run_file(std::vector<Doubt>& doubts, SiteRecords const& r, config::Run const& run)
{
    auto const& settings = r.timeline.settings;
    if (!settings.is_logged) return;
    auto const present = present_settings(run, r.site).paces.back();
    auto const what = differences(settings.paces.back(), present);
    if (what.empty()) return;
    doubts.push_back({r.index, Bound::exact, "Settings differ",
                      fmt::format("{}: {} of the present run file differ from {}, which was in "
                                  "force from {} on. Always-on and the loss have those in force.",
                                  r.name(), what, printable(run.file.filename().string()),
                                  format_time(settings.logged))});
}

// Each job that the cluster's accounting knows must be in the bill.
void check_accounting(std::vector<Doubt>& doubts, SiteRecords const& r,
                      std::vector<Event> const& poller)
{
    std::set<std::pair<std::string, Time>> told;
    for (auto const& event : poller) {
        auto const answer = runlog::accounting_in(event);
        if (!answer || event.site != r.site.site.value) continue;
        for (auto const& job : answer->jobs) {
            if (!job.started || !told.emplace(job.job, *job.started).second) continue;
            energy::Interval const when{*job.started, job.ended.value_or(event.time)};
            bool const is_billed =
                std::ranges::any_of(r.timeline.jobs, [&](JobTimeline const& known) {
                    return known.job == job.job &&
                           energy::overlap(
                               {known.begin - rounding, known.end.value_or(Time::max())},
                               {when.from, when.to + rounding});
                });
            if (!is_billed && when.length() > rounding)
                doubts.push_back(
                    {r.index, Bound::at_least, "A job without a bill",
                     fmt::format("{}: Slurm's accounting knows job {}, {}, and no event "
                                 "of the site shows it. Its energy is missing.",
                                 r.name(), job.job, span_text(when))});
        }
    }
}

WattHours drawn_by_jobs(energy::Bill const& bill)
{
    auto const between = bill.by_state.find(PowerState::between_jobs);
    return bill.total.energy -
           (between != bill.by_state.end() ? between->second.energy : WattHours{});
}

}  // namespace

std::vector<Doubt> doubts_of(RunFiles const& files, Timeline const& timeline, Work const& work,
                             Energy const& energy)
{
    std::vector<Doubt> doubts;
    if (files.clock_differs)
        doubts.push_back({std::nullopt, Bound::uncertain, "Another clock",
                          "The clocks in clock.json of the run's folder and in the sites' journals "
                          "differ, from the run's begin to its end. The bill has the clock of the "
                          "first journal."});
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        SiteRecords const records{s, files.run.sites[s], files.sites[s], timeline.sites[s],
                                  work.sites[s].tokens};
        auto const drawn = drawn_by_jobs(energy.sites[s].bill);
        auto const real = WattHours{drawn.value / timeline.axis.factor()};
        check_journal(doubts, records);
        check_settings(doubts, records);
        check_run_file(doubts, records, files.run);
        check_accounting(doubts, records, files.poller_events);
        check_steps_in_jobs(doubts, records);
        check_one_trainer(doubts, records);
        check_training_time(doubts, records, timeline.end);
        check_ends(doubts, records, real);
        check_overlaps(doubts, records, real);
        check_least_energy(doubts, records, drawn, timeline.axis.factor());
    }
    return doubts;
}

}  // namespace curtail::account
