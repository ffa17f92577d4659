// SPDX-License-Identifier: Apache-2.0
#include "bill/account/in_force.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/core/text.hpp"
#include "run/permission/issue.hpp"
#include "run/runlog/configuration.hpp"

namespace curtail::account {
namespace {

// The events `configuration` of a site, in order of time.
std::vector<std::pair<Time, runlog::Configuration>> configurations(
    std::vector<runlog::Event> const& events, SiteId const& site)
{
    std::vector<std::pair<Time, runlog::Configuration>> found;
    for (auto const& event : events) {
        if (event.site != site.value) continue;
        auto logged = runlog::configuration_in(event);
        if (logged && !logged->files.empty()) found.emplace_back(event.time, std::move(*logged));
    }
    std::ranges::stable_sort(found, {}, &std::pair<Time, runlog::Configuration>::first);
    return found;
}

std::vector<std::string> site_files_in(json::Object const& run_file)
{
    std::vector<std::string> names;
    auto const* value = run_file.find("sites");
    auto const* list = value != nullptr ? value->as_array() : nullptr;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
        if (auto const* name = (*list)[i].as_text())
            names.push_back(std::filesystem::path(*name).filename().string());
    return names;
}

PaceInForce present_pace(config::Run const& run)
{
    PaceInForce pace{Time::min(), run.training.batch_tokens, run.training.step_at_least,
                     run.reference().site};
    auto const text = run.files.empty() ? std::string() : run.files.front().text;
    auto const parsed = json::parse(text, "run file", json::Dialect::comments);
    auto const* file = parsed ? parsed->as_object() : nullptr;
    if (file != nullptr) pace.site_files = site_files_in(*file);
    return pace;
}

// The pace that a logged run file states. Empty if the text is no run file.
std::optional<PaceInForce> pace_in(std::string const& text, Time from, config::Run const& run)
{
    auto const logged = json::parse(text, "run file", json::Dialect::comments);
    auto const* file = logged ? logged->as_object() : nullptr;
    if (file == nullptr) return std::nullopt;
    auto const* value = file->find("training");
    auto const* training = value != nullptr ? value->as_object() : nullptr;
    auto const number = [&](char const* key, double otherwise) {
        return (training != nullptr ? training->number_at(key) : std::nullopt).value_or(otherwise);
    };
    constexpr config::TrainingSettings usual;
    auto const batch = number("batch_tokens", static_cast<double>(usual.batch_tokens.value));
    auto const least = number("step_at_least_s", usual.step_at_least.count());
    if (!(batch >= 1 && batch <= 1e15 && least >= 0 && least <= 1e9)) return std::nullopt;
    auto reference = file->text_at("reference_site");
    if (reference.empty()) reference = run.sites.front().site.value;
    return PaceInForce{from,
                       {static_cast<std::int64_t>(batch)},
                       FractionalSeconds{least},
                       {std::move(reference)},
                       site_files_in(*file)};
}

// The element of `all`, which is in order of time, that was in force at `time`.
template <class InForce>
InForce const& in_force_at(std::vector<InForce> const& all, Time time)
{
    auto const after = std::ranges::upper_bound(all, time, {}, &InForce::from);
    return after == all.begin() ? *after : *std::prev(after);
}

// Names of settings that differ.
class Names {
  public:
    void add(bool differs, std::string_view name)
    {
        if (differs) text_.append(text_.empty() ? "" : ", ").append(name);
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

void add_problem(LoggedSettings& settings, runlog::Configuration::File const& file, Time time,
                 std::string const& why)
{
    settings.problem = printable(file.name) + " as logged at " + format_time(time) + ": " + why;
}

void add_pace(LoggedSettings& settings, runlog::Configuration::File const& file, Time time,
              config::Run const& run)
{
    auto& paces = settings.paces;
    auto pace = pace_in(file.text, paces.empty() ? Time::min() : time, run);
    if (!pace) add_problem(settings, file, time, "it is no run file");
    else if (paces.empty() || !differences(paces.back(), *pace).empty())
        paces.push_back(std::move(*pace));
}

void add_site(LoggedSettings& settings, runlog::Configuration::File const& file, Time time,
              SiteId const& id)
{
    auto site = config::parse_site(file.text, file.name);
    if (!site || site->site != id) {
        add_problem(settings, file, time,
                    site ? "it is the file of another site" : site.error().message());
        return;
    }
    settings.is_logged = true;
    settings.logged = time;
    settings.file = printable(file.name);
    settings.thresholds.push_back(site->window);
    auto& all = settings.all;
    // What the bill does not depend on may differ.
    if (!all.empty() && differences(all.back().site, *site).empty())
        all.back().site = std::move(*site);
    else all.push_back({all.empty() ? Time::min() : time, std::move(*site)});
}

// Compares what a trainer read at its start with what was in force for the poller. The poller may
// see a change of a file later, but not after the trainer's permission. It may also see it before
// the trainer, which read the file a little earlier, logs it. Returns what differs.
template <class InForce, class Difference>
std::string unlike(std::vector<InForce> const& all, Time time, Millis latest,
                   Difference const& difference)
{
    constexpr std::chrono::minutes longest_start{10};
    if (all.empty()) return {};
    auto what = difference(in_force_at(all, time));
    if (what.empty() || difference(in_force_at(all, time - longest_start)).empty()) return {};
    auto const next = std::ranges::upper_bound(all, time, {}, &InForce::from);
    bool const changes_soon =
        next != all.end() && next->from <= time + latest && difference(*next).empty();
    return changes_soon ? std::string() : what;
}

std::string unlike(LoggedSettings const& settings, runlog::Configuration const& logged, Time time,
                   config::Run const& run, SiteId const& id)
{
    auto const& run_file = logged.files.front();
    auto const& site_file = logged.files.back();
    auto const site = config::parse_site(site_file.text, site_file.name);
    if (!site || site->site != id) return {};
    auto const latest = longest_silence(*site);
    Names names;
    auto const of_site = unlike(settings.all, time, latest, [&](SettingsInForce const& one) {
        return differences(one.site, *site);
    });
    names.add(!of_site.empty(), of_site + " of " + printable(site_file.name));
    if (auto const pace = pace_in(run_file.text, time, run)) {
        auto const of_pace = unlike(settings.paces, time, latest, [&](PaceInForce const& one) {
            return differences(one, *pace);
        });
        names.add(!of_pace.empty(), of_pace + " of " + printable(run_file.name));
    }
    return names.take();
}

}  // namespace

config::Site const& LoggedSettings::at(Time time) const { return in_force_at(all, time).site; }

PaceInForce const& LoggedSettings::pace_at(Time time) const { return in_force_at(paces, time); }

LoggedSettings present_settings(config::Run const& run, config::Site const& present)
{
    LoggedSettings settings;
    settings.all.push_back({Time::min(), present});
    settings.thresholds.push_back(present.window);
    settings.paces.push_back(present_pace(run));
    return settings;
}

LoggedSettings logged_settings(config::Run const& run, config::Site const& present,
                               std::vector<runlog::Event> const& poller,
                               std::vector<runlog::Event> const& own)
{
    LoggedSettings settings;
    auto const of_poller = configurations(poller, present.site);
    auto const of_trainers = configurations(own, present.site);
    auto const add = [&](Time time, runlog::Configuration const& configuration) {
        add_pace(settings, configuration.files.front(), time, run);
        add_site(settings, configuration.files.back(), time, present.site);
    };
    for (auto const& [time, configuration] : of_trainers)
        if (of_poller.empty() || time < of_poller.front().first) add(time, configuration);
    for (auto const& [time, configuration] : of_poller) add(time, configuration);
    for (auto const& [time, configuration] : of_trainers)
        if (auto const what = unlike(settings, configuration, time, run, present.site);
            !what.empty() && settings.contradiction.empty())
            settings.contradiction =
                what + ", as a trainer read it and logged in events.jsonl at " + format_time(time);
    if (settings.all.empty()) {
        settings.all.push_back({Time::min(), present});
        settings.thresholds.push_back(present.window);
    }
    if (settings.paces.empty()) settings.paces.push_back(present_pace(run));
    return settings;
}

Millis longest_silence(config::Site const& site)
{
    auto const close_delay = std::chrono::round<Millis>(site.window.close_delay);
    return site.launch.grace + site.permission_lifetime.value_or(
                                   permission::default_lifetime(site.poll_period, close_delay));
}

std::string differences(config::Site const& a, config::Site const& b)
{
    Names names;
    auto const levels = [](config::Site const& s) {
        auto const power = s.power.value_or(energy::Power{});
        return std::tuple(s.power.has_value(), power.idle.value, power.training.value);
    };
    auto const pue = [](config::Site const& s) { return s.power.value_or(energy::Power{}).pue; };
    names.add(a.region != b.region, "region");
    names.add(levels(a) != levels(b), "power");
    names.add(pue(a) != pue(b) || a.later_pues != b.later_pues, "PUE");
    names.add(a.between_jobs != b.between_jobs, "between_jobs");
    names.add(a.meter != b.meter, "meter");
    names.add(a.window.open_below != b.window.open_below, "open_below_gco2_per_kwh");
    names.add(a.signal_max_age != b.signal_max_age, "signal_max_age_s");
    names.add(a.embodied_gco2_per_hour != b.embodied_gco2_per_hour, "embodied_gco2_per_hour");
    // They bound the end of a job that nobody reported.
    names.add(a.launch.time_limit != b.launch.time_limit, "launcher.time_limit");
    names.add(a.launch.grace != b.launch.grace, "launcher.grace_s");
    names.add(a.permission_lifetime != b.permission_lifetime, "permission_lifetime_s");
    return names.take();
}

std::string differences(PaceInForce const& a, PaceInForce const& b)
{
    Names names;
    names.add(a.batch_tokens != b.batch_tokens, "training.batch_tokens");
    names.add(a.step_at_least != b.step_at_least, "training.step_at_least_s");
    names.add(a.reference_site != b.reference_site, "reference_site");
    bool const both_name_sites = !a.site_files.empty() && !b.site_files.empty();
    names.add(both_name_sites && a.site_files != b.site_files, "sites");
    return names.take();
}

}  // namespace curtail::account
