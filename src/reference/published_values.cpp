// SPDX-License-Identifier: Apache-2.0
#include "reference/published_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "account/figures.hpp"
#include "reference/energy.hpp"
#include "windows/evaluate_interval.hpp"

namespace curtail::reference {
namespace {

constexpr double smoothing = 0.99;

double upper_median(std::vector<double> values)
{
    if (values.empty()) throw std::invalid_argument("median of an empty list");
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

std::vector<double> perplexities(std::vector<LoggedStep> const& steps)
{
    std::vector<double> out;
    out.reserve(steps.size());
    for (auto const& s : steps) out.push_back(s.perplexity);
    return out;
}

class Table {
  public:
    void add(std::string key, std::string label, double value, std::string unit = {})
    {
        values_.push_back({std::move(key), std::move(label), value, std::move(unit)});
    }
    std::vector<PublishedValue> take() { return std::move(values_); }

  private:
    std::vector<PublishedValue> values_;
};

void add_energy(Table& table, Logs const& logs, History const& history)
{
    auto const energy = energy_of(logs, history);
    auto const& baseline = energy.always_on.begin()->second.energy;
    table.add("co2_kg", "emissions, curtailment-aware", energy.run.carbon.value / 1000, "kg");
    for (auto const& t : logs.trace)
        table.add("baseline_co2_kg." + t.region.value, "emissions, always on, " + t.region.value,
                  energy.always_on.at(t.region.value).carbon.value / 1000, "kg");
    for (auto const& t : logs.trace)
        table.add("ratio_percent." + t.region.value, "ours of always on, " + t.region.value,
                  100 * energy.ratio_to(t.region.value), "%");
    table.add("energy_kwh", "energy, curtailment-aware", energy.run.energy.value / 1000, "kWh");
    table.add("baseline_energy_kwh", "energy, always on", baseline.value / 1000, "kWh");
    table.add("curtailed_share", "curtailed share of energy, curtailment-aware",
              energy.run.clean_share().value());
    for (auto const& t : logs.trace)
        table.add("baseline_curtailed_share." + t.region.value,
                  "curtailed share of energy, always on, " + t.region.value,
                  energy.always_on.at(t.region.value).clean_share().value());
}

void add_perplexity(Table& table, Logs const& logs)
{
    auto const perplexity = perplexity_of(logs);
    table.add("best_perplexity", "best smoothed perplexity, curtailment-aware", perplexity.run);
    table.add("best_perplexity.one_site", "best smoothed perplexity, one site always on",
              perplexity.one_site);
    table.add("best_perplexity.two_sites", "best smoothed perplexity, two sites always on",
              perplexity.two_sites);
}

void add_times(Table& table, Logs const& logs)
{
    Time last = logs.zero;
    for (auto const& steps : logs.steps) last = std::max(last, steps.back().time);
    table.add("wall_time_s", "wall time, curtailment-aware", logs.seconds(last), "s");
    table.add("wall_time_s.one_site", "wall time, one site always on",
              logs.seconds(logs.one_site.back().time), "s");
    table.add("wall_time_s.two_sites", "wall time, two sites always on",
              logs.seconds(logs.two_sites.back().time), "s");
    table.add("step_s.one_site", "seconds per step, one site always on",
              seconds_per_step(logs.one_site), "s");
    table.add("step_s.two_sites", "seconds per step, two sites always on",
              seconds_per_step(logs.two_sites), "s");
}

void add_rounds(Table& table, Logs const& logs, History const& history)
{
    auto const times = round_times(logs, history);
    table.add("round_s", "round with two sites, median duration", times.duration, "s");
    table.add("round_training_s", "round with two sites, training part", times.training, "s");
    table.add("round_before_s", "round with two sites, before its first step",
              times.before_first_step, "s");
    table.add("round_after_s", "round with two sites, after its last step", times.after_last_step,
              "s");
    table.add("round_merge_s", "averaging", times.merge, "s");
}

void add_range(Table& table, std::string const& key, std::string const& label,
               std::vector<double> const& values)
{
    if (values.empty()) return;
    auto const [least, greatest] = std::minmax_element(values.begin(), values.end());
    table.add(key + "_min_s", label + ", shortest", *least, "s");
    table.add(key + "_max_s", label + ", longest", *greatest, "s");
}

// A client's window opened or closed.
struct Turn {
    double at;
    std::size_t client;
};
struct Turns {
    std::vector<Turn> opens;
    std::vector<Turn> closes;
};

// What Curtail's detector decides on the whole trace with the reference's settings, in trace time.
Turns turns_of(Logs const& logs)
{
    Turns out;
    for (std::size_t c = 0; c < Logs::clients.size(); ++c) {
        auto const& points = logs.find({Logs::regions[c]})->points;
        auto const evaluated =
            windows::evaluate_interval({}, points.front().time, points, {}, points.back().time);
        for (auto const& change : evaluated.changes) {
            Turn const turn{logs.seconds(change.time), c};
            if (change.from == windows::Phase::closed) out.opens.push_back(turn);
            if (change.to == windows::Phase::closed) out.closes.push_back(turn);
        }
    }
    for (auto* turns : {&out.opens, &out.closes})
        std::sort(turns->begin(), turns->end(),
                  [](Turn const& a, Turn const& b) { return a.at < b.at; });
    return out;
}

void add_turns(Table& table, std::vector<Turn> const& turns, bool open)
{
    table.add(open ? "detector_opens" : "detector_closes",
              open ? "openings by the detector on the whole trace" : "closings by the detector",
              static_cast<double>(turns.size()));
    for (std::size_t i = 0; i < turns.size(); ++i)
        table.add(fmt::format("{}.{}", open ? "detector_open_s" : "detector_close_s", i + 1),
                  fmt::format("trace time, {} {}", Logs::clients[turns[i].client],
                              open ? "opens" : "closes"),
                  turns[i].at, "s");
}

void add_decisions(Table& table, Logs const& logs)
{
    auto const turns = turns_of(logs);
    add_turns(table, turns.opens, true);
    add_turns(table, turns.closes, false);
}

// Opening and closing of each window.
void add_windows(Table& table, Logs const& logs, std::vector<Window> const& windows)
{
    int number = 0;
    for (auto const& w : windows) {
        auto const key = std::to_string(++number);
        auto const label = "window " + key + ", " + Logs::clients[w.client];
        table.add("open_s." + key, label + " opens", logs.seconds(w.decision), "s");
        if (!w.drain) continue;
        table.add("turned_dirty_s." + key, label + " turned dirty",
                  logs.seconds(w.turned_dirty.back()), "s");
        table.add("close_s." + key, label + " closes", logs.seconds(*w.drain), "s");
    }
}

// How long the steps from a window's opening to its first training step took.
void add_starts(Table& table, std::vector<Window> const& windows)
{
    std::vector<double> starts, provisioning, connections, first_steps;
    for (auto const& w : windows) {
        provisioning.push_back(seconds_between(w.decision, w.ready));
        starts.push_back(seconds_between(w.decision, w.first_step));
        if (!w.connected) continue;
        connections.push_back(seconds_between(w.ready, *w.connected));
        first_steps.push_back(seconds_between(*w.connected, w.first_step));
    }
    table.add("provisioning_s", "provisioning", upper_median(provisioning), "s");
    add_range(table, "connection", "connection of a provisioned client", connections);
    add_range(table, "first_step", "connection to first step", first_steps);
    add_range(table, "startup", "window open to first step", starts);
}

// Seconds from a round's start to its first logged step, and from its last step to its end.
struct Waits {
    std::vector<double> before;
    std::vector<double> after;
};

// Waits of joint rounds that are shorter than `longest`. One round waited 3.6 h for a contribution
// of a site that had left; it does not count for the usual times.
Waits waits_of(std::vector<Round> const& rounds, double longest)
{
    Waits out;
    for (auto const& r : rounds) {
        if (!r.joint() || seconds_between(r.start, r.end) >= longest) continue;
        Time first = r.end;
        Time last = r.start;
        for (auto const& part : r.parts) {
            first = std::min(first, part.first_step);
            last = std::max(last, part.last_step);
        }
        out.before.push_back(seconds_between(r.start, first));
        out.after.push_back(seconds_between(last, r.end));
    }
    return out;
}

}  // namespace

double minimum_smoothed(std::vector<double> const& values, double a)
{
    double smoothed = values.at(0);
    double minimum = smoothed;
    for (double const value : values) {
        if (&value != values.data()) smoothed = a * smoothed + (1 - a) * value;
        minimum = std::min(minimum, smoothed);
    }
    return minimum;
}

Perplexity perplexity_of(Logs const& logs)
{
    std::map<Time, std::pair<double, int>> by_time;
    for (auto const& steps : logs.steps)
        for (auto const& s : steps) {
            auto& [sum, count] = by_time[s.time];
            sum += s.perplexity;
            ++count;
        }
    std::vector<double> averaged;
    averaged.reserve(by_time.size());
    for (auto const& [time, sum] : by_time) averaged.push_back(sum.first / sum.second);
    return {minimum_smoothed(averaged, smoothing),
            minimum_smoothed(perplexities(logs.one_site), smoothing),
            minimum_smoothed(perplexities(logs.two_sites), smoothing)};
}

double seconds_per_step(std::vector<LoggedStep> const& steps)
{
    return seconds_between(steps.front().time, steps.back().time) /
           static_cast<double>(steps.back().step - steps.front().step);
}

RoundTimes round_times(Logs const& logs, History const& history)
{
    std::vector<double> spans, durations, training, merges;
    for (auto const& r : history.rounds) {
        if (!r.joint()) continue;
        spans.push_back(seconds_between(r.start, r.end));
        for (auto const& part : r.parts) training.push_back(part.training.count());
        if (!r.merged) continue;
        durations.push_back(seconds_between(r.start, *r.merged));
        merges.push_back(seconds_between(r.end, *r.merged));
    }
    auto const waits = waits_of(history.rounds, 2 * upper_median(spans));
    return {spans.size(),
            upper_median(durations),
            upper_median(training),
            upper_median(waits.before) - seconds_per_step(logs.one_site),
            upper_median(waits.after),
            upper_median(merges)};
}

std::vector<PublishedValue> published_values(Logs const& logs, History const& history)
{
    Table table;
    add_energy(table, logs, history);
    add_perplexity(table, logs);
    add_times(table, logs);
    add_rounds(table, logs, history);
    add_windows(table, logs, history.windows);
    add_starts(table, history.windows);
    table.add("end_s", "last event", logs.seconds(history.end), "s");
    add_decisions(table, logs);
    return table.take();
}

std::string published_text(std::vector<PublishedValue> const& values)
{
    std::size_t width = 0;
    for (auto const& v : values) width = std::max(width, v.label.size());
    std::string text;
    for (auto const& v : values)
        text += fmt::format("{:<{}}  {:>16.12g}{}{}\n", v.label, width, v.value,
                            v.unit.empty() ? "" : " ", v.unit);
    return text + "accounting rule " + account::rule_text(energy::AccountingRule::linear) + "\n";
}

json::Object published_json(std::vector<PublishedValue> const& values)
{
    json::Object out;
    for (auto const& v : values)
        out.set(v.key, json::Object{{"value", v.value}, {"unit", v.unit}, {"label", v.label}});
    return out;
}

}  // namespace curtail::reference
