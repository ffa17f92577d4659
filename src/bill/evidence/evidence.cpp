// SPDX-License-Identifier: Apache-2.0
#include "bill/evidence/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/digest.hpp"
#include "base/core/text.hpp"
#include "bill/account/billing.hpp"
#include "run/runlog/configuration.hpp"

namespace curtail::evidence {
namespace {

using account::RunFiles;
using account::Timeline;
using json::Array;
using json::Object;
using json::Value;

// Milliseconds since 1970. The first and the last time that a clock can show become numbers that
// every reader of JSON knows exactly.
std::int64_t ms(Time time)
{
    constexpr std::int64_t most = std::int64_t{1} << 52;
    return std::clamp(to_unix_ms(time), -most, most);
}

Object clock_json(std::optional<TimeScale> const& clock)
{
    auto const scale = clock.value_or(TimeScale{});
    return {{"origin_ms", ms(scale.origin)},
            {"real_origin_ms", ms(scale.real_origin)},
            {"factor", scale.factor}};
}

Array settings_json(account::SiteTimeline const& site, account::Axis const& axis)
{
    return json::array_of(account::settings_spans(site, axis), [](auto const& span) {
        auto const& power = span.power;
        return Object{{"from_ms", ms(span.when.from)},
                      {"to_ms", ms(span.when.to)},
                      {"region", span.site.region.value},
                      {"idle_w", power ? Value(power->idle.value) : Value()},
                      {"training_w", power ? Value(power->training.value) : Value()},
                      {"pue", power ? Value(power->pue) : Value()},
                      {"threshold", span.site.window.open_below.value},
                      {"max_age_ms", span.site.signal_max_age.count()}};
    });
}

std::string run_json(RunFiles const& files, account::Account const& account,
                     Timeline const& timeline, Object const& document)
{
    Array sites;
    for (std::size_t s = 0; s < files.run.sites.size(); ++s)
        sites.emplace_back(Object{{"id", files.run.sites[s].site.value},
                                  {"region", timeline.sites[s].settings.last().region.value},
                                  {"settings", settings_json(timeline.sites[s], timeline.axis)}});
    return json::to_pretty(
        Object{{"run", files.run.run.value},
               {"run_digest", files.run_digest ? Value(files.run_digest->hex()) : Value()},
               {"report", *document.find("report")},
               {"signal", files.trace_name},
               {"clock", clock_json(files.clock)},
               {"time_zero_ms", ms(account.time_zero)},
               {"batch_tokens", files.run.training.batch_tokens.value},
               {"step_at_least_s", files.run.training.step_at_least.count()},
               {"reference", files.run.reference().site.value},
               {"sites", std::move(sites)}});
}

std::string states_csv(RunFiles const& files, Timeline const& timeline)
{
    std::string text = "site,state,from_ms,to_ms,real_from_ms,real_to_ms\n";
    for (std::size_t s = 0; s < timeline.sites.size(); ++s) {
        auto const& id = files.run.sites[s].site.value;
        auto const& site = timeline.sites[s];
        for (std::size_t i = 0; i < site.held.size(); ++i)
            text += fmt::format("{},{},{},{},{},{}\n", id, energy::name(site.held[i].state),
                                ms(site.held[i].when.from), ms(site.held[i].when.to),
                                ms(site.held_real[i].when.from), ms(site.held_real[i].when.to));
        for (auto const& [state, when] : site.between_jobs)
            text +=
                fmt::format("{},{},{},{},,\n", id, energy::name(state), ms(when.from), ms(when.to));
        for (auto const& [state, when] : site.states)
            if (state == "provision")
                text += fmt::format("{},{},{},{},,\n", id, state,
                                    ms(timeline.axis.signal_at(when.from_s)),
                                    ms(timeline.axis.signal_at(when.to_s)));
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

// The steps that count, at their corrected times.
std::string steps_csv(RunFiles const& files)
{
    std::string text = "site,time_ms,step_s,tokens,progress_tokens,loss\n";
    for (std::size_t s = 0; s < files.sites.size(); ++s)
        for (auto const& step : files.sites[s].metrics)
            text += fmt::format("{},{},{},{},{},{}\n", files.run.sites[s].site.value, ms(step.time),
                                step.duration.count(), step.tokens.value, step.progress.value,
                                step.loss ? fmt::format("{}", *step.loss) : "");
    return text;
}

std::string commits_jsonl(RunFiles const& files)
{
    constexpr char const* kinds[] = {"genesis", "roster", "merge"};
    std::string text;
    for (auto const& commit : files.commits) {
        Array included;
        for (auto const& c : commit.contributions)
            if (c.included && c.tokens > Tokens{})
                included.emplace_back(Object{{"site", c.site.value}, {"tokens", c.tokens.value}});
        text += json::to_string(Object{{"number", commit.number},
                                       {"kind", kinds[static_cast<int>(commit.kind)]},
                                       {"time_ms", ms(commit.time)},
                                       {"tokens", commit.tokens.value},
                                       {"included", std::move(included)}}) +
                "\n";
    }
    return text;
}

std::string samples_csv(RunFiles const& files, bool with_values)
{
    std::string text = "region,time_ms,gco2_per_kwh,period_ms\n";
    for (auto const& series : files.trace)
        for (auto const& point : series.points) {
            auto const value = with_values && point.intensity
                                   ? fmt::format("{}", point.intensity->value)
                                   : std::string();
            text += fmt::format("{},{},{},{}\n", series.region.value, ms(point.time), value,
                                point.period ? std::to_string(point.period->count()) : "");
        }
    return text;
}

// Copies a figure, or figures by name, without those that are unknown.
void copy(Object& to, Object const& source, char const* key)
{
    auto const* value = source.find(key);
    if (value == nullptr || value->is_null()) return;
    auto const* members = value->as_object();
    if (members == nullptr) {
        to.set(key, *value);
        return;
    }
    Object known;
    for (auto const& [name, member] : members->members())
        if (!member.is_null()) known.set(name, member);
    to.set(key, std::move(known));
}

// The figures that the script computes. Those that the report does not state are left out.
std::string headline_json(Object const& document, bool with_values)
{
    std::vector<char const*> keys{"tokens",
                                  "tokens_by_site",
                                  "wall_s",
                                  "training_h",
                                  "allocated_h",
                                  "goodput",
                                  "best_ppl",
                                  "rounds",
                                  "joint_rounds",
                                  "energy_kwh",
                                  "share_inside_windows"};
    if (with_values)
        keys.insert(keys.end(), {"co2_kg", "co2_by_site", "share", "kwh_unknown", "co2_outside_kg",
                                 "kwh_outside", "mean_intensity"});
    Object out;
    auto const* headline = document.find("headline");
    if (headline == nullptr) return json::to_pretty(out);
    auto const& from = *headline->as_object();
    for (auto const* key : keys) copy(out, from, key);
    if (auto const* tail = from.find("tail_loss"); tail != nullptr && tail->as_array() != nullptr)
        out.set("tail_loss", tail->as_array()->front());
    if (!with_values) return json::to_pretty(out);
    Object always_on;
    for (auto const& scenario : *from.find("always_on")->as_array()) {
        Object figures;
        for (auto const* key : {"kwh", "kg", "share", "tokens"})
            copy(figures, *scenario.as_object(), key);
        always_on.set(scenario.as_object()->text_at("region"), std::move(figures));
    }
    return json::to_pretty(out.set("always_on", std::move(always_on)));
}

// Leaves out the intensities in the events of a poller.
std::string without_values(std::string const& log)
{
    std::string out;
    for (auto const line : split(log, '\n')) {
        if (trim(line).empty()) continue;
        auto const value = json::parse(line, "log");
        auto const* object = value ? value->as_object() : nullptr;
        if (object == nullptr) continue;
        auto copy = *object;
        copy.erase("intensity_gco2_per_kwh");
        out += json::to_string(copy) + "\n";
    }
    return out;
}

// Each settings file that a site's poller or trainer has logged, once.
void add_configuration(std::vector<EvidenceFile>& out, RunFiles const& files)
{
    std::set<std::string> seen;
    auto const add = [&](account::Event const& event) {
        auto const configuration = runlog::configuration_in(event);
        if (!configuration || files.run.find_site({event.site}) == nullptr) return;
        for (auto const& file : configuration->files) {
            auto const digest = sha256(file.text).hex();
            std::string name;
            for (char const c : file.name) name += is_plain_name({&c, 1}) || c == '.' ? c : '_';
            if (seen.insert(event.site + name + digest).second)
                out.push_back(
                    {fmt::format("configuration/{}-{}-{}", event.site, digest.substr(0, 8), name),
                     file.text});
        }
    };
    for (auto const& event : files.poller_events) add(event);
    for (auto const& site : files.sites)
        for (auto const& event : site.events) add(event);
}

constexpr char const* readme = R"(Evidence of a run of Curtail

Run `python3 recompute.py`. It computes the headline figures from these files and compares them with
headline.json, which has those of the report.

run.json           settings that were in force, the clock of a replay, and the run digest
logs/              the logs of the sites, as published
configuration/     the settings files, as the sites have logged them
samples.csv        the carbon intensity with which the run is billed
states.csv         what each site did with its devices, as Curtail takes it from the logs
windows.csv        when the sites' windows were open
steps.csv          the steps that the logs have, with corrected times
commits.jsonl      the commits: tokens in the model, and who contributed them
digests.txt        SHA-256 of each file, for `sha256sum -c digests.txt`

The intensities belong to the provider of the signal: {}.
Its licence says whether you may pass them on. `curtail-report --evidence DIR --without-values`
leaves them out.
)";

}  // namespace

std::vector<EvidenceFile> evidence_of(RunFiles const& files, account::Account const& account,
                                      Object const& document, bool with_values)
{
    auto const timeline = account::timeline_of(files);
    std::vector<EvidenceFile> out{
        {"README.txt", fmt::format(fmt::runtime(readme), files.trace_name)},
        {"run.json", run_json(files, account, timeline, document)},
        {"states.csv", states_csv(files, timeline)},
        {"windows.csv", windows_csv(files, account, timeline)},
        {"steps.csv", steps_csv(files)},
        {"commits.jsonl", commits_jsonl(files)},
        {"samples.csv", samples_csv(files, with_values)},
        {"headline.json", headline_json(document, with_values)},
        {"recompute.py", recompute_script}};
    for (auto const& [name, text] : files.logs) {
        if (with_values) out.push_back({"logs/" + name, text});
        else if (!name.ends_with("-signals.jsonl"))
            out.push_back({"logs/" + name, without_values(text)});
    }
    add_configuration(out, files);
    std::string digests;
    for (auto const& file : out) digests += sha256(file.text).hex() + "  " + file.name + "\n";
    out.push_back({"digests.txt", digests});
    return out;
}

}  // namespace curtail::evidence
