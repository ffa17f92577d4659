// SPDX-License-Identifier: Apache-2.0
#include "plan/state.hpp"

namespace curtail::plan {
namespace {

json::Value time_or_null(std::optional<Time> const& time)
{
    return time ? json::Value(format_time(*time)) : json::Value();
}

std::optional<Time> read_time(json::ObjectReader& r, std::string const& key)
{
    auto const text = r.optional_text(key);
    if (!text) return std::nullopt;
    auto const time = parse_time(*text);
    r.require(time.has_value(), key, "must be a time");
    return time ? std::optional(*time) : std::nullopt;
}

int read_count(json::ObjectReader& r, std::string const& key,
               std::optional<std::int64_t> fallback = {})
{
    auto const count = r.integer(key, fallback);
    r.require(count >= 0 && count < 1'000'000'000, key, "must be 0 or more");
    return static_cast<int>(count);
}

TrackedJob read_job(json::ObjectReader& r)
{
    TrackedJob job;
    job.id = {r.text("id")};
    job.window = {r.text("window")};
    job.intent = {r.text("intent")};
    job.running_since = read_time(r, "running_since");
    job.asked_since = read_time(r, "asked_since");
    job.drained_since = read_time(r, "drained_since");
    job.last_drain = read_time(r, "last_drain");
    job.last_cancel = read_time(r, "last_cancel");
    job.drains = read_count(r, "drains");
    job.cancel_arrived = r.boolean("cancel_arrived");
    job.ending_since = read_time(r, "ending_since");
    return job;
}

Intent read_intent(json::ObjectReader& r)
{
    return {{r.text("id")},
            {r.text("window")},
            read_time(r, "since").value_or(Time{}),
            r.boolean("in_doubt")};
}

json::Object to_json(TrackedJob const& job)
{
    return {{"id", job.id.value},
            {"window", job.window.value},
            {"intent", job.intent.value},
            {"running_since", time_or_null(job.running_since)},
            {"asked_since", time_or_null(job.asked_since)},
            {"drained_since", time_or_null(job.drained_since)},
            {"last_drain", time_or_null(job.last_drain)},
            {"last_cancel", time_or_null(job.last_cancel)},
            {"drains", job.drains},
            {"cancel_arrived", job.cancel_arrived},
            {"ending_since", time_or_null(job.ending_since)}};
}

json::Object to_json(Intent const& intent)
{
    return {{"id", intent.id.value},
            {"window", intent.window.value},
            {"since", format_time(intent.since)},
            {"in_doubt", intent.uncertain}};
}

}  // namespace

json::Value to_json(SiteState const& state)
{
    json::Array jobs;
    for (auto const& job : state.jobs) jobs.push_back(to_json(job));
    json::Object object{{"jobs", std::move(jobs)}};
    if (state.intent) object.set("intent", to_json(*state.intent));
    object.set("failures", state.failures)
        .set("setbacks", state.setbacks)
        .set("retry_at", time_or_null(state.retry_at))
        .set("failure", state.failure);
    return object;
}

Result<SiteState> read_site_state(json::Value const& value, std::string const& where)
{
    json::ObjectReader r(value, where);
    SiteState state;
    r.each("jobs", [&](json::ObjectReader& o) { state.jobs.push_back(read_job(o)); });
    r.object(
        "intent", [&](json::ObjectReader& o) { state.intent = read_intent(o); }, false);
    state.failures = read_count(r, "failures");
    state.setbacks = read_count(r, "setbacks", 0);
    state.retry_at = read_time(r, "retry_at");
    state.failure = r.text("failure");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return state;
}

}  // namespace curtail::plan
