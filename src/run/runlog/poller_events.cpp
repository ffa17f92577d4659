// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/poller_events.hpp"

#include <algorithm>
#include <array>

namespace curtail::runlog {
namespace {

constexpr std::array job_types{"job-submitted", "job-started", "job-drained",
                               "job-cancelled", "job-ended",   "job-failed"};

bool is_end(JobChange::Type type)
{
    return type == JobChange::Type::ended || type == JobChange::Type::failed;
}

}  // namespace

Event to_event(windows::PhaseChange const& change, Time now, std::string site)
{
    json::Value intensity;
    if (change.intensity) intensity = change.intensity->value;
    return {now,
            "decision",
            std::move(site),
            {{"signal_time", format_time(change.time)},
             {"from", windows::to_string(change.from)},
             {"to", windows::to_string(change.to)},
             {"reason", windows::to_string(change.reason)},
             {"intensity_gco2_per_kwh", intensity}}};
}

std::optional<windows::PhaseChange> phase_change_in(Event const& event)
{
    if (event.type != "decision") return std::nullopt;
    auto const from = windows::parse_phase(event.text("from"));
    auto const to = windows::parse_phase(event.text("to"));
    auto const reason = windows::parse_reason(event.text("reason"));
    if (!from || !to || !reason) return std::nullopt;
    windows::PhaseChange change{signal_time_of(event).value_or(event.time), *from, *to, *reason};
    if (auto const g = event.number("intensity_gco2_per_kwh")) change.intensity = GramsPerKwh{*g};
    return change;
}

Event to_event(WindowChange const& change, Time now, std::string site)
{
    json::Object details{{"window", change.window}};
    if (change.signal_time) details.set("signal_time", format_time(*change.signal_time));
    return {now, change.opens ? "window-open" : "window-close", std::move(site),
            std::move(details)};
}

std::optional<WindowChange> window_change_in(Event const& event)
{
    bool const opens = event.type == "window-open";
    if (!opens && event.type != "window-close") return std::nullopt;
    return WindowChange{opens, event.text("window"), signal_time_of(event)};
}

bool is_stop(JobChange::Type type)
{
    return type == JobChange::Type::drained || type == JobChange::Type::cancelled;
}

Event to_event(JobChange const& change, Time now, std::string site)
{
    bool const ends = is_end(change.type);
    json::Object details{{"window", change.window}, {"job", change.job}};
    if (is_stop(change.type)) details.set("why", change.why);
    if (ends) details.set("state", change.state);
    if (change.at) details.set(ends ? "ended" : "started", format_time(*change.at));
    if (change.latest) details.set("latest_end", format_time(*change.latest));
    if (change.exit_code) details.set("exit_code", *change.exit_code);
    if (!change.by.empty()) details.set("by", change.by);
    if (change.retry_after)
        details.set("retry_after_s", FractionalSeconds(*change.retry_after).count());
    return {now, job_types.at(static_cast<std::size_t>(change.type)), std::move(site),
            std::move(details)};
}

std::vector<Event> to_events(std::vector<JobChange> const& changes, Time now,
                             std::string const& site)
{
    std::vector<Event> events;
    events.reserve(changes.size());
    for (auto const& change : changes) events.push_back(to_event(change, now, site));
    return events;
}

std::optional<JobChange> job_change_in(Event const& event)
{
    auto const found = std::find(job_types.begin(), job_types.end(), event.type);
    if (found == job_types.end()) return std::nullopt;
    auto const type = static_cast<JobChange::Type>(found - job_types.begin());
    JobChange change{.type = type,
                     .window = event.text("window"),
                     .job = event.text("job"),
                     .why = event.text("why"),
                     .state = event.text("state"),
                     .at = event.time_of(is_end(type) ? "ended" : "started")};
    change.latest = event.time_of("latest_end");
    change.by = event.text("by");
    if (auto const code = event.integer("exit_code")) change.exit_code = static_cast<int>(*code);
    if (auto const pause = event.number("retry_after_s"))
        change.retry_after = std::chrono::round<Millis>(FractionalSeconds(*pause));
    return change;
}

Event to_event(JobStateChange const& change, Time now, std::string site)
{
    json::Object details{{"job", change.job}, {"state", change.state}};
    if (change.started) details.set("started", format_time(*change.started));
    return {now, "job-state", std::move(site), std::move(details)};
}

std::optional<JobStateChange> job_state_change_in(Event const& event)
{
    if (event.type != "job-state") return std::nullopt;
    return JobStateChange{event.text("job"), event.text("state"), event.time_of("started")};
}

Event to_event(Accounting const& accounting, Time now, std::string site)
{
    json::Object details;
    if (!accounting.why.empty()) details.set("why", accounting.why);
    else
        details.set("jobs", json::array_of(accounting.jobs, [](Accounting::Job const& job) {
                        json::Object line{{"job", job.job},
                                          {"state", job.state},
                                          {"started", json::time_or_null(job.started)},
                                          {"ended", json::time_or_null(job.ended)}};
                        if (job.elapsed)
                            line.set("elapsed_s", FractionalSeconds(*job.elapsed).count());
                        if (job.consumed_j) line.set("consumed_j", *job.consumed_j);
                        return line;
                    }));
    return {now, "accounting", std::move(site), std::move(details)};
}

std::optional<Accounting> accounting_in(Event const& event)
{
    if (event.type != "accounting") return std::nullopt;
    Accounting accounting{{}, event.text("why")};
    auto const* jobs = event.details.find("jobs");
    auto const* list = jobs != nullptr ? jobs->as_array() : nullptr;
    if (list == nullptr) return accounting;
    for (auto const& value : *list) {
        auto const* job = value.as_object();
        if (job == nullptr) continue;
        auto& known = accounting.jobs.emplace_back(
            Accounting::Job{job->text_at("job"), job->text_at("state"), job->time_at("started"),
                            job->time_at("ended")});
        if (auto const elapsed = job->number_at("elapsed_s"))
            known.elapsed = std::chrono::round<Millis>(FractionalSeconds(*elapsed));
        known.consumed_j = job->number_at("consumed_j");
    }
    return accounting;
}

Event to_event(HoldChange const& change, Time now, std::string site)
{
    json::Object details{{"cause", change.cause}, {"why", change.why}};
    if (!change.by.empty()) details.set("by", change.by);
    if (change.serial) details.set("decision", *change.serial);
    if (change.signal_time) details.set("signal_time", format_time(*change.signal_time));
    return {now, change.held ? "hold" : "release", std::move(site), std::move(details)};
}

std::optional<HoldChange> hold_change_in(Event const& event)
{
    bool const held = event.type == "hold";
    if (!held && event.type != "release") return std::nullopt;
    return HoldChange{held,
                      event.text("cause"),
                      event.text("why"),
                      event.integer("decision"),
                      signal_time_of(event),
                      event.text("by")};
}

std::optional<Time> signal_time_of(Event const& event)
{
    if (auto const ms = event.integer("signal_time")) return from_unix_ms(*ms);
    return event.time_of("signal_time");
}

void set_number(Event& event, std::int64_t number) { event.details.set("number", number); }

std::int64_t highest_number(std::vector<Event> const& events)
{
    std::int64_t highest = 0;
    for (auto const& event : events)
        highest = std::max(highest, event.integer("number").value_or(0));
    return highest;
}

}  // namespace curtail::runlog
