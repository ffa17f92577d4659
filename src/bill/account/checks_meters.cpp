// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bill/account/accounting.hpp"
#include "bill/account/billing.hpp"
#include "bill/account/checks.hpp"

namespace curtail::account {
namespace {

using energy::Bound;

// Says what is wrong with the meter of a site. The text is empty if nothing is.
std::string trouble(SiteRecords const& r)
{
    constexpr std::size_t enough = 10;
    std::vector<double> values;
    for (auto const& step : r.files.metrics)
        if (step.metered_j) values.push_back(*step.metered_j);
    auto const negative = std::ranges::count_if(values, [](double value) { return value < 0; });
    if (negative > 0) return fmt::format("is negative in {} steps", negative);
    if (r.timeline.metered->mean() <= Watts{}) return "is 0";
    bool const is_constant =
        values.size() >= enough &&
        std::ranges::all_of(values, [&](double value) { return value == values.front(); });
    if (is_constant) return fmt::format("is {:g} J in each step", values.front());
    return "";
}

// Whether one of two powers is more than `factor` times the other one.
bool is_far(Watts a, Watts b, double factor)
{
    return a.value > factor * b.value || factor * a.value < b.value;
}

// What the meters and Slurm say about the same jobs.
struct JobEnergy {
    Contradictions jobs;
    WattHours billed;   // of the nodes, by energy_j and the power between steps
    WattHours devices;  // by energy_j alone, in steps
    WattHours slurm;
};

JobEnergy job_energy(SiteRecords const& r)
{
    JobEnergy sum;
    for (auto const& [job, when] : accounted_jobs(r.poller, r.site.site)) {
        if (!job.ended || !job.consumed_j) continue;
        sum.jobs.add(when);
        sum.slurm += WattHours{*job.consumed_j / 3600};
        for (auto const& step : r.steps.between(when.from, when.to))
            sum.devices += WattHours{std::max(0.0, step.metered_j.value_or(0)) / 3600};
        auto const power = power_of(r.timeline, r.timeline.settings.at(when.from));
        if (!power) continue;
        for (auto const state : energy::all_states)
            sum.billed += (1 / power->pue) * power->of(state) *
                          r.states.time_in(when, [&](auto other) { return other == state; });
    }
    return sum;
}

// Slurm meters whole nodes, or their processors alone: so this is a fact, and no doubt.
void check_slurm(Doubts& doubts, SiteRecords const& r, bool is_used)
{
    constexpr double most = 1.1;
    auto const energy = job_energy(r);
    if (energy.jobs.count == 0) return;
    auto const add = [&](WattHours drawn, char const* of) {
        doubts.push_back(
            {r.index, Bound::exact, "Meters differ",
             fmt::format("{}: by energy_j of metrics.jsonl, {} jobs drew {:.3g} kWh{}, "
                         "and by Slurm's accounting in the poller's events.jsonl "
                         "{:.3g} kWh, {}.",
                         r.name(), energy.jobs.count, drawn.value / 1000, of,
                         energy.slurm.value / 1000, span_text(energy.jobs.when))});
    };
    if (energy.devices > most * energy.slurm) add(energy.devices, " in the steps of devices alone");
    else if (is_used && is_far(Watts{energy.billed.value}, Watts{energy.slurm.value}, most))
        add(energy.billed, " with the power between steps");
}

// Compares the metered power of training with what is possible, and with the stated one.
void check_values(Doubts& doubts, SiteRecords const& r, std::string const& when, bool is_used)
{
    auto const& last = r.timeline.settings.last();
    auto const modelled = last.power->training - last.meter.value_or(config::Meter{}).rest;
    auto const add = [&](bool is_wrong, std::string const& what) {
        doubts.push_back({r.index, is_used && is_wrong ? Bound::uncertain : Bound::exact, "Meter",
                          fmt::format("{}: energy_j in metrics.jsonl {}, {}. The bill {} it.",
                                      r.name(), what, when, is_used ? "uses" : "does not use")});
    };
    if (auto const text = trouble(r); !text.empty()) {
        add(true, text);
        return;
    }
    // Another order of magnitude is another unit. A smaller difference is a fact.
    auto const mean = r.timeline.metered->mean();
    bool const is_wrong = is_far(mean, modelled, 4);
    if (!is_wrong && !(is_used && is_far(mean, modelled, 1.25))) return;
    add(is_wrong, fmt::format("is {:.3g} kW on average, and the site file has {:.3g} kW",
                              mean.value / 1000, modelled.value / 1000));
}

}  // namespace

void check_meters(Doubts& doubts, SiteRecords const& r)
{
    auto const& last = r.timeline.settings.last();
    if (!last.power || !r.is_live || r.files.metrics.empty()) return;
    auto const all = r.steps.between(Time::min(), Time::max());
    auto const when = span_text({interval_of(all.front()).from, all.back().time});
    auto const& metered = r.timeline.metered;
    bool const is_used = power_of(r.timeline, last) != last.power;
    auto const add = [&](Bound bound, std::string text) {
        doubts.push_back({r.index, bound, "Meter", std::move(text)});
    };
    if (last.meter && (!metered || metered->share < MeteredTraining::least_share))
        add(Bound::exact,
            fmt::format("{}: power.meter of the site file names energy_j, and too few "
                        "steps of metrics.jsonl have it, {}. The bill has the model.",
                        r.name(), when));
    if (!metered) return;
    check_slurm(doubts, r, is_used);
    check_values(doubts, r, when, is_used);
}

}  // namespace curtail::account
