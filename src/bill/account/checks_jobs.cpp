// SPDX-License-Identifier: Apache-2.0
#include "bill/account/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bill/account/accounting.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using energy::PowerState;

// An end that nobody reported is billed as the latest possible one.
void check_ends(Doubts& doubts, SiteRecords const& r)
{
    for (auto const& job : r.timeline.jobs) {
        Time const latest = job.end.value_or(r.run_end);
        if (!job.end_from || latest - *job.end_from <= rounding) continue;
        energy::Interval const when{*job.end_from, latest};
        auto const energy = r.power_at(PowerState::idle, when.from) * when.length();
        doubts.push_back(
            {r.index, r.matters(energy) ? Bound::at_most : Bound::exact, "Unknown end of a job",
             fmt::format("{}: nobody reported the end of {}, and its events.jsonl and "
                         "metrics.jsonl have no later line. It lies {}{}. The bill has the "
                         "latest: {:.1f} s and {:.4g} kWh of it are in doubt.",
                         r.name(), job_text(job), span_text(when),
                         job.end ? "" : ", or the job still runs", when.length().count(),
                         energy.value / 1000)});
    }
}

void check_overlaps(Doubts& doubts, SiteRecords const& r)
{
    FractionalSeconds both{0};
    WattHours energy{};
    for (auto const& job : r.timeline.jobs)
        if (job.overlap > rounding) {
            both += job.overlap;
            energy += r.power_at(PowerState::training, job.begin) * job.overlap;
        }
    if (both.count() <= 0) return;
    doubts.push_back({r.index, r.matters(energy) ? Bound::at_least : Bound::exact,
                      "Two jobs at once",
                      fmt::format("{}: two jobs held devices at once for {:.1f} real s, as its "
                                  "events show. Only one of them is billed.",
                                  r.name(), both.count())});
}

// The time in which a job is billed, and how much of it is outside the accounting's job.
struct BilledTime {
    FractionalSeconds all{0};
    FractionalSeconds outside{0};
};

BilledTime billed_time(SiteRecords const& r, AccountedJob const& known)
{
    BilledTime time;
    for (auto const& job : r.timeline.jobs) {
        energy::Interval const when{job.begin, job.end.value_or(r.run_end)};
        if (job.job != known.job.job ||
            !overlap({when.from - rounding, when.to + rounding}, known.when))
            continue;
        time.all += std::max(when.length(), FractionalSeconds(Millis{1}));
        time.outside +=
            when.length() - std::max<FractionalSeconds>(FractionalSeconds{0},
                                                        std::min(when.to, known.when.to) -
                                                            std::max(when.from, known.when.from));
    }
    return time;
}

void add_other_length(Doubts& doubts, SiteRecords const& r, AccountedJob const& known, Bound bound,
                      FractionalSeconds by, char const* what)
{
    auto const power = r.power_at(PowerState::training, known.when.from);
    if (by <= 2 * rounding || !r.matters(power * by)) return;
    doubts.push_back(
        {r.index, bound, "Another length of a job",
         fmt::format("{}: by the accounting of Slurm in the poller's events.jsonl, job "
                     "{} ran {}. {} {:.1f} s.",
                     r.name(), known.job.job, span_text(known.when), what, by.count())});
}

// A job that has ended must be as long in the bill as in the accounting. Slurm does not count the
// time in which it had suspended the job.
void check_length(Doubts& doubts, SiteRecords const& r, AccountedJob const& known,
                  BilledTime const& billed)
{
    if (!known.job.ended) return;
    auto const all = known.when.length();
    auto const missing = all - r.states.time_in(known.when, [](PowerState) { return true; });
    add_other_length(doubts, r, known, Bound::at_least, missing, "The bill lacks");
    add_other_length(doubts, r, known, Bound::at_most, billed.outside,
                     "The bill has it for longer, by");
    if (!known.job.elapsed) return;
    auto const suspended = r.states.time_in(
        known.when, [](PowerState state) { return state == PowerState::suspended; });
    auto const more = all - *known.job.elapsed - suspended;
    add_other_length(doubts, r, known, Bound::at_most, more,
                     "It was suspended for longer than in the bill, by");
    add_other_length(doubts, r, known, Bound::at_least, -more,
                     "It was suspended for less time than in the bill, by");
}

// Each job that the cluster's accounting knows must be in the bill.
void check_accounting(Doubts& doubts, SiteRecords const& r)
{
    for (auto const& known : accounted_jobs(r.poller, r.site.site)) {
        auto const billed = billed_time(r, known);
        if (billed.all.count() > 0) check_length(doubts, r, known, billed);
        else if (known.when.length() > rounding)
            doubts.push_back(
                {r.index, Bound::at_least, "A job without a bill",
                 fmt::format("{}: Slurm's accounting in the poller's events.jsonl knows job {}, "
                             "{}, and no event of the site shows it. Its energy is missing.",
                             r.name(), known.job.job, span_text(known.when))});
    }
}

// Whether a job held devices, whatever the answer says about its start. Slurm knows no start of a
// job that was cancelled before it began.
bool has_run(runlog::Accounting::Job const& job)
{
    bool const took_time = job.elapsed.value_or(Millis{0}) > Millis{0};
    return took_time || job.consumed_j.value_or(0) > 0 || job.state == "COMPLETED" ||
           job.state == "RUNNING" || job.state == "TIMEOUT";
}

// The accounting knows when a job that has run began, and answers nothing about the future.
void check_answers(Doubts& doubts, SiteRecords const& r)
{
    Contradictions lacking;
    Contradictions later;
    for (auto const& event : r.poller) {
        auto const answer = runlog::accounting_in(event);
        if (!answer || event.site != r.site.site.value) continue;
        for (auto const& job : answer->jobs) {
            if (!job.started && has_run(job))
                lacking.add({job.ended.value_or(event.time), event.time});
            for (auto const& time : {job.started, job.ended})
                if (time && *time > event.time + usual_difference) later.add({event.time, *time});
        }
    }
    auto const add = [&](Contradictions const& wrong, Bound bound, char const* what) {
        if (wrong.count > 0)
            doubts.push_back({r.index, bound, "Answers of the accounting",
                              fmt::format("{}: in the poller's events.jsonl, {} entries of jobs in "
                                          "Slurm's answers, {}, {}. The file was changed.",
                                          r.name(), wrong.count, span_text(wrong.when), what)});
    };
    add(lacking, Bound::uncertain, "have run and lack the time of their start");
    add(later, Bound::exact, "have times after the answer");
}

// Adds up the time of steps that ended in `when` and for whose job `counts` is true.
template <class Counts>
FractionalSeconds time_of_steps(SiteRecords const& r, energy::Interval when, Counts const& counts)
{
    FractionalSeconds sum{0};
    for (auto const& job : r.timeline.jobs) {
        Time const from = std::max(when.from, job.begin);
        Time const to = std::min(when.to, job.end.value_or(r.run_end) + Millis{1});
        if (from >= to || !counts(job)) continue;
        for (auto const& step : r.steps.between(from, to))
            sum += std::min<FractionalSeconds>(step.duration, step.time - from);
    }
    return sum;
}

void add_pause(Doubts& doubts, SiteRecords const& r, energy::Interval when, Bound bound,
               FractionalSeconds steps, std::string const& why)
{
    if (steps <= rounding) return;
    doubts.push_back({r.index, r.matters(steps) ? bound : Bound::exact, "Steps during a pause",
                      fmt::format("{}: metrics.jsonl has steps of {:.1f} s {}, and by the poller's "
                                  "events.jsonl, {}.",
                                  r.name(), steps.count(), span_text(when), why)});
}

// A suspended job makes no step. If the trainer logged when it did not run, its log counts.
void check_suspended(Doubts& doubts, SiteRecords const& r, JobTimeline const& job)
{
    for (auto const& seen : job.suspended) {
        energy::Interval const when{seen.from, std::min(seen.to, job.end.value_or(r.run_end))};
        bool const is_logged = std::ranges::any_of(
            job.frozen, [&](auto const& frozen) { return overlap(frozen, when); });
        if (is_logged || when.from >= when.to) continue;
        auto const steps =
            time_of_steps(r, when, [&](auto const& other) { return &other == &job; });
        add_pause(doubts, r, when, Bound::at_least, steps,
                  job_text(job) + " was suspended. The bill has this time as suspended");
    }
}

// The times in which a person, an operator or the poller held the site.
std::vector<energy::Interval> holds_of(SiteRecords const& r)
{
    std::vector<energy::Interval> holds;
    for (auto const& event : r.poller) {
        auto const change = runlog::hold_change_in(event);
        if (!change || event.site != r.site.site.value) continue;
        bool const is_open = !holds.empty() && holds.back().to == Time::max();
        if (is_open && !change->held) holds.back().to = event.time;
        if (!is_open && change->held) holds.push_back({event.time, Time::max()});
    }
    return holds;
}

// A held site stops its job. A job that begins while the site is held was started by a person.
void check_holds(Doubts& doubts, SiteRecords const& r)
{
    for (auto const& hold : holds_of(r)) {
        auto const& site = r.timeline.settings.at(hold.from);
        energy::Interval const when{hold.from + longest_silence(site),
                                    std::min(hold.to, r.run_end)};
        auto const stopped = [&](JobTimeline const& job) { return job.begin < hold.from; };
        auto const own = [&](JobTimeline const& job) { return job.begin >= hold.from; };
        add_pause(doubts, r, when, Bound::uncertain, time_of_steps(r, when, stopped),
                  "the site was held. Its job should have stopped");
        add_pause(doubts, r, when, Bound::exact, time_of_steps(r, when, own),
                  "the site was held. A person may have started the job");
    }
}

}  // namespace

void check_jobs(Doubts& doubts, SiteRecords const& r)
{
    check_accounting(doubts, r);
    check_answers(doubts, r);
    check_ends(doubts, r);
    check_overlaps(doubts, r);
    for (auto const& job : r.timeline.jobs) check_suspended(doubts, r, job);
    check_holds(doubts, r);
}

}  // namespace curtail::account
