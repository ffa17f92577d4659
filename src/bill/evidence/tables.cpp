// SPDX-License-Identifier: Apache-2.0
#include "bill/evidence/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/core/json.hpp"
#include "bill/account/billing.hpp"
#include "bill/account/figures.hpp"

namespace curtail::evidence {
namespace {

using account::RunFiles;
using account::SettingsSpan;
using account::Timeline;
using json::Array;
using json::Object;
using json::Value;

// The first and the last time that a clock can show become numbers that every reader of JSON knows
// exactly.
std::int64_t ms(Time time)
{
    constexpr std::int64_t most = std::int64_t{1} << 52;
    return std::clamp(to_unix_ms(time), -most, most);
}

// A part of an interval that lies inside or outside a window.
struct Part {
    energy::Interval when;
    bool in_window;
};

// Cuts an interval where windows open and close. `windows` are in order and do not overlap.
std::vector<Part> cut(energy::Interval when, std::vector<energy::Interval> const& windows)
{
    std::vector<Part> out;
    Time from = when.from;
    auto const add = [&](Time to, bool in_window) {
        if (from < to) out.push_back({{from, to}, in_window});
        from = std::max(from, to);
    };
    for (auto const& window : windows) {
        if (window.to <= when.from || window.from >= when.to) continue;
        add(window.from, false);
        add(std::min(window.to, when.to), true);
    }
    add(when.to, false);
    return out;
}

// Power in watts, PUE, region, threshold, and the least hold of a sample.
std::string settings_fields(SettingsSpan const& span, energy::PowerState state)
{
    std::string power = ",";
    if (span.power)
        power =
            fmt::format("{},{}", span.power->of(state).value / span.power->pue, span.power->pue);
    return fmt::format("{},{},{},{}", power, span.site.region.value,
                       span.site.window.open_below.value, span.site.signal_max_age.count());
}

// Writes the rows of one site.
class StateRows {
  public:
    StateRows(std::string site, std::vector<SettingsSpan> settings,
              std::vector<energy::Interval> windows)
        : site_(std::move(site)), settings_(std::move(settings)), windows_(std::move(windows))
    {
    }

    // Adds a state under a name. `real` is its interval in real time, or empty.
    void add(std::string const& name, energy::StateInterval const& state, std::string const& real,
             bool is_billed = true)
    {
        for (auto const& span : settings_) {
            auto const embodied = span.site.embodied_gco2_per_hour;
            for (auto const& clipped : energy::clip(std::array{state}, span.when))
                for (auto const& [when, in_window] : cut(clipped.when, windows_))
                    text += fmt::format("{},{},{},{},{},{},{},{}\n", site_, name, ms(when.from),
                                        ms(when.to), real, in_window ? 1 : 0,
                                        settings_fields(span, state.state),
                                        !is_billed ? "0"
                                        : embodied ? fmt::format("{}", *embodied)
                                                   : std::string());
        }
    }

    std::string text;

  private:
    std::string site_;
    std::vector<SettingsSpan> settings_;
    std::vector<energy::Interval> windows_;
};

Array settings_json(account::SiteTimeline const& site, account::Axis const& axis)
{
    return json::array_of(account::settings_spans(site, axis), [](SettingsSpan const& span) {
        auto const& power = span.power;
        auto const& embodied = span.site.embodied_gco2_per_hour;
        return Object{{"from_ms", ms(span.when.from)},
                      {"to_ms", ms(span.when.to)},
                      {"region", span.site.region.value},
                      {"idle_w", power ? Value(power->idle.value) : Value()},
                      {"training_w", power ? Value(power->training.value) : Value()},
                      {"pue", power ? Value(power->pue) : Value()},
                      {"between_jobs", energy::name(span.site.between_jobs)},
                      {"embodied_gco2_per_hour", embodied ? Value(*embodied) : Value()},
                      {"threshold", span.site.window.open_below.value},
                      {"max_age_ms", span.site.signal_max_age.count()}};
    });
}

// The names of figures that follow from the intensities.
bool follows_from_values(std::string const& name)
{
    static constexpr std::array names{"co2_kg",
                                      "co2_if_idle_kg",
                                      "co2_by_site",
                                      "co2_outside_kg",
                                      "kwh_outside",
                                      "share",
                                      "share_baseline",
                                      "g_per_kwh",
                                      "mean_intensity",
                                      "kg",
                                      "g",
                                      "g_outside",
                                      "avoided_g",
                                      "ratio",
                                      "gco2",
                                      "gco2_outside",
                                      "split",
                                      "average",
                                      "sci",
                                      "g_outside",
                                      "g_per_million_tokens"};
    return std::ranges::find(names, name) != names.end();
}

// What describes a figure, although it may be a number, a flag or unknown.
bool is_description(Value const& name)
{
    static constexpr std::array names{"region", "as_site",  "elsewhere",    "sites",
                                      "rate",   "followed", "newer_commit", "run_digest"};
    return std::ranges::find(names, *name.as_text()) != names.end();
}

// The name of an element of a list: that of its scenario or region, or its number.
std::string name_of(Value const& element, std::size_t index)
{
    auto const* object = element.as_object();
    if (object == nullptr) return std::to_string(index);
    return object->text_at(object->find("id") != nullptr ? "id" : "region");
}

// Writes figures as lines.
class FigureLines {
  public:
    explicit FigureLines(bool with_values) : with_values_(with_values) {}

    // Adds the figures in a value. Texts are no figures.
    void add(Array const& path, Value const& value, bool is_left_out = false)
    {
        if (auto const* object = value.as_object()) {
            for (auto const& [name, member] : object->members())
                add_member(path, name, member, is_left_out);
        } else if (auto const* array = value.as_array()) {
            for (std::size_t i = 0; i < array->size(); ++i)
                add_member(path, name_of((*array)[i], i), (*array)[i], is_left_out);
        } else if (!is_description(path.back())) {
            if (is_left_out) text += json::to_string(Array{path, "left out"}) + "\n";
            else if (value.as_text() == nullptr) text += json::to_string(Array{path, value}) + "\n";
        }
    }

    std::string text;

  private:
    void add_member(Array const& path, std::string const& name, Value const& member,
                    bool is_left_out)
    {
        // A scenario has one tally.
        if (name == "tallies") return add(path, member.as_array()->front(), is_left_out);
        auto to_member = path;
        to_member.emplace_back(name);
        add(to_member, member, is_left_out || (!with_values_ && follows_from_values(name)));
    }

    bool with_values_;
};

}  // namespace

std::string run_json(RunFiles const& files, account::Account const& account,
                     Timeline const& timeline, Object const& document)
{
    Array sites;
    for (std::size_t s = 0; s < account.sites.size(); ++s) {
        auto const& site = account.sites[s];
        sites.emplace_back(Object{{"id", site.id.value},
                                  {"region", site.region.value},
                                  {"between_jobs", energy::name(site.between_jobs)},
                                  {"bound", energy::name(site.bill.total.bound)},
                                  {"settings", settings_json(timeline.sites[s], timeline.axis)}});
    }
    auto const clock = files.clock.value_or(TimeScale{});
    Array bounds;
    if (!account.unlogged.empty()) bounds.emplace_back(energy::name(energy::Bound::at_least));
    return json::to_pretty(
        Object{{"run", files.run.run.value},
               {"run_digest", files.run_digest ? Value(files.run_digest->hex()) : Value()},
               {"written_by", *document.find("report")},
               {"signal", files.trace_name},
               {"origin_ms", ms(clock.origin)},
               {"real_origin_ms", ms(clock.real_origin)},
               {"factor", clock.factor},
               {"time_zero_ms", ms(account.time_zero)},
               {"inherited", account.inherited.value},
               {"batch_tokens", timeline.pace.batch_tokens.value},
               {"bounds", std::move(bounds)},
               {"sites", std::move(sites)}});
}

std::string states_csv(RunFiles const& files, account::Account const& account,
                       Timeline const& timeline)
{
    std::string text =
        "site,state,from_ms,to_ms,real_from_ms,real_to_ms,in_window,watts,pue,region,threshold,"
        "max_age_ms,embodied_per_hour\n";
    constexpr char const* no_real = ",";
    for (std::size_t s = 0; s < timeline.sites.size(); ++s) {
        auto const& site = timeline.sites[s];
        StateRows rows(files.run.sites[s].site.value, account::settings_spans(site, timeline.axis),
                       account::window_intervals(account.windows, s, timeline));
        for (std::size_t i = 0; i < site.held.size(); ++i)
            rows.add(energy::name(site.held[i].state), site.held[i],
                     fmt::format("{},{}", ms(site.held_real[i].when.from),
                                 ms(site.held_real[i].when.to)));
        for (auto const& idle : site.between_jobs)
            rows.add(energy::name(idle.state), idle, no_real);
        for (auto const& idle : site.maybe_between_jobs)
            rows.add("maybe_between_jobs", idle, no_real, false);
        for (auto const& [state, when] : site.states)
            if (state == "provision")
                rows.add(
                    state,
                    {energy::PowerState::idle,
                     {timeline.axis.signal_at(when.from_s), timeline.axis.signal_at(when.to_s)}},
                    no_real, false);
        text += rows.text;
    }
    return text;
}

std::string always_on_csv(RunFiles const& files, account::Account const& account,
                          Timeline const& timeline)
{
    std::string text = "region,site,from_ms,to_ms,in_window,watts,pue,threshold,max_age_ms\n";
    for (auto const& scenario : account.always_on) {
        auto const series = std::ranges::find(files.trace, RegionId{scenario.region},
                                              [](auto const& s) { return s.region; });
        Time const start =
            series->points.empty() ? timeline.axis.zero() : series->points.front().time;
        auto const site = std::ranges::find(account.sites, SiteId{scenario.as_site},
                                            [](auto const& s) { return s.id; });
        auto const index = static_cast<std::size_t>(site - account.sites.begin());
        for (auto const& [when, settings, power] :
             account::settings_spans(timeline.sites[index], timeline.axis)) {
            if (when.to <= start) continue;
            text += fmt::format(
                "{},{},{},{},0,{},{},{}\n", scenario.region, scenario.as_site,
                ms(std::max(start, when.from)), ms(when.to),
                power ? fmt::format("{},{}", power->training.value, power->pue) : std::string(","),
                settings.window.open_below.value, settings.signal_max_age.count());
        }
    }
    return text;
}

std::string windows_csv(RunFiles const& files, account::Account const& account,
                        Timeline const& timeline)
{
    std::string text = "site,open_ms,close_ms\n";
    for (std::size_t s = 0; s < files.run.sites.size(); ++s)
        for (auto const& when : account::window_intervals(account.windows, s, timeline))
            text += fmt::format("{},{},{}\n", files.run.sites[s].site.value, ms(when.from),
                                ms(when.to));
    return text;
}

std::string steps_csv(RunFiles const& files, Timeline const& timeline)
{
    std::string text = "site,time_ms,step_s,at_least_s,tokens,progress_tokens,loss\n";
    for (std::size_t s = 0; s < files.sites.size(); ++s)
        for (auto const& step : files.sites[s].metrics)
            text += fmt::format("{},{},{},{},{},{},{}\n", files.run.sites[s].site.value,
                                ms(step.time), step.duration.count(),
                                account::least_duration(timeline.sites[s], step).count(),
                                step.tokens.value, step.progress.value,
                                step.loss ? fmt::format("{}", *step.loss) : "");
    return text;
}

std::string commits_jsonl(RunFiles const& files)
{
    constexpr char const* kinds[] = {"genesis", "roster", "merge"};
    std::string text;
    for (auto const& commit : files.commits) {
        std::map<std::string, std::int64_t> tokens;
        for (auto const& c : commit.contributions)
            if (c.included && c.tokens > Tokens{} && files.run.find_site(c.site) != nullptr)
                tokens[c.site.value] += c.tokens.value;
        Object included;
        for (auto const& [site, count] : tokens) included.set(site, count);
        text +=
            json::to_string(Object{{"number", commit.number},
                                   {"kind", kinds[static_cast<int>(commit.kind)]},
                                   {"is_merge", commit.kind == account::CommitSummary::Kind::merge},
                                   {"time_ms", ms(commit.time)},
                                   {"tokens", commit.tokens.value},
                                   {"included", std::move(included)}}) +
            "\n";
    }
    return text;
}

std::string samples_csv(std::vector<RegionSeries> const& series, bool with_values)
{
    std::string text = "region,time_ms,gco2_per_kwh,period_ms\n";
    for (auto const& region : series)
        for (auto const& point : region.points) {
            std::string value;
            if (point.intensity)
                value = with_values ? fmt::format("{}", point.intensity->value) : "nan";
            text += fmt::format("{},{},{},{}\n", region.region.value, ms(point.time), value,
                                point.period ? std::to_string(point.period->count()) : "");
        }
    return text;
}

std::string figures_jsonl(Object const& document, bool with_values)
{
    FigureLines lines(with_values);
    for (char const* part : {"headline", "totals", "comparison", "audit"}) {
        auto const* found = document.find(part);
        if (found == nullptr) continue;
        auto value = *found;
        if (auto* object = value.as_object()) object->erase("lines");
        lines.add(Array{part}, value);
    }
    return lines.text;
}

}  // namespace curtail::evidence
