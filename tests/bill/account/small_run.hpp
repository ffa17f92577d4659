// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "base/core/text.hpp"
#include "bill/account/account_of.hpp"
#include "bill/account/jobs.hpp"

namespace curtail::account::test {

/// A time on the day of the run: `at(1.5)` is half past one.
inline Time at(double hours)
{
    return parse_time("2026-03-01T00:00Z").value() +
           std::chrono::round<Millis>(FractionalSeconds(3600 * hours));
}

inline Event event(double hours, std::string type, std::string site, json::Object details = {})
{
    return {at(hours), std::move(type), std::move(site), std::move(details)};
}
inline Event state(double hours, std::string site, char const* word)
{
    return event(hours, "state", std::move(site), {{"state", word}, {"job", "1"}});
}

inline StepMetrics step(double hours, Tokens tokens, double took_s, std::int64_t number = 1)
{
    return {at(hours), number, 1, tokens, {}, 4.0, 1, FractionalSeconds(took_s)};
}

/// Gives each line of a trainer that lacks the time of the monotonic clock the one that fits.
inline void add_monotonic_times(SiteFiles& site)
{
    Time const zero = at(-100);
    for (auto& e : site.events)
        if (!e.details.find("monotonic_s"))
            e.details.set("monotonic_s", FractionalSeconds(e.time - zero).count());
    for (auto& s : site.metrics)
        if (!s.monotonic) s.monotonic = MonoTime{s.time - zero};
}

/// Samples at 0:00, 1:00, ... Each applies for an hour.
inline RegionSeries hourly(std::string region, std::vector<std::optional<double>> const& values)
{
    RegionSeries trace{{std::move(region)}, {}};
    for (std::size_t i = 0; i < values.size(); ++i)
        trace.points.push_back({at(static_cast<double>(i)),
                                values[i] ? std::optional(GramsPerKwh{*values[i]}) : std::nullopt,
                                std::chrono::hours(1)});
    return trace;
}

inline config::Site site(std::string name, std::string region)
{
    config::Site site;
    site.site = {std::move(name)};
    site.region = {std::move(region)};
    site.power = energy::Power{Watts{400}, Watts{2000}};
    site.between_jobs = energy::BetweenJobs::released;
    return site;
}

/// Two sites in real time, EAST in region E and WEST in region W. EAST holds devices from 0:00 to
/// 2:30, WEST from 1:00 to 3:00. 7200 tokens are committed. A step of 900 tokens takes 900 s while
/// only one site trains.
inline RunFiles small_run()
{
    RunFiles files;
    files.run.run = {"small"};
    files.run.model = {"small", 2, 32, 2, 2, 16, 320};
    files.run.training.batch_tokens = {900};
    files.run.rounds.block_tokens = {300};
    files.run.sites = {site("EAST", "E"), site("WEST", "W")};
    files.poller_events = {
        event(0, "window-open", "EAST", {{"window", "e"}}),
        event(1, "window-open", "WEST", {{"window", "w"}}),
        event(2, "window-close", "EAST", {{"window", "e"}}),
        event(2.6, "job-ended", "EAST",
              {{"window", "e"}, {"job", "1"}, {"ended", "2026-03-01T02:30:00Z"}}),
        event(3, "window-close", "WEST", {{"window", "w"}}),
        event(3.1, "job-ended", "WEST", {{"window", "w"}, {"job", "1"}})};
    files.sites.resize(2);
    files.sites[0].events = {state(0, "EAST", "starting"), state(0.5, "EAST", "training"),
                             event(1.99, "stop-requested", "EAST"),
                             event(2, "trainer-exit", "EAST", {{"code", 0}})};
    files.sites[0].metrics = {step(0.75, {900}, 900, 1), step(1, {900}, 900, 2),
                              step(1.5, {900}, 1800, 3), step(2, {900}, 1800, 4)};
    files.sites[1].events = {state(1, "WEST", "training"), state(2, "WEST", "exchange"),
                             state(2.5, "WEST", "training"),
                             event(3, "trainer-exit", "WEST", {{"code", 0}})};
    files.sites[1].metrics = {step(1.5, {900}, 1800, 1), step(2, {900}, 1800, 2),
                              step(2.75, {900}, 900, 3), step(3, {900}, 900, 4)};
    CommitSummary genesis;
    genesis.number = 1;
    genesis.time = at(0);
    CommitSummary merge;
    merge.number = 2;
    merge.kind = CommitSummary::Kind::merge;
    merge.round = 2;
    merge.tokens = {7200};
    merge.contributions = {{{"EAST"}, "EAST.1.1", 1, true, "", {3600}, 4, 0.1},
                           {{"WEST"}, "WEST.1.1", 1, true, "", {3600}, 4, 0.1}};
    merge.time = at(3);
    files.commits = {genesis, merge};
    files.trace = {hourly("E", {50, 80, 150, 350, 50}), hourly("W", {200, 40, 120, 120, 400}),
                   hourly("N", {500, 500, 500, 500, 500})};
    files.trace_name = "hand.csv";
    files.trace_from_file = true;
    return files;
}

/// The value at a path of a document; empty if there is none.
inline std::optional<json::Value> entry(json::Object const& document,
                                        std::vector<char const*> const& path)
{
    json::Value value(document);
    for (char const* key : path) {
        auto const* object = value.as_object();
        auto const* found = object != nullptr ? object->find(key) : nullptr;
        if (found == nullptr) return std::nullopt;
        value = json::Value(*found);
    }
    return value;
}
/// A number in a document; NaN if there is none.
inline double number(json::Object const& document, std::vector<char const*> const& path)
{
    auto const found = entry(document, path);
    return found ? found->as_number().value_or(std::nan("")) : std::nan("");
}

}  // namespace curtail::account::test
