// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/state.hpp"

namespace curtail::plan {
namespace {

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
    job.launcher_state = r.text("state", "");
    job.submitted = r.optional_time("submitted");
    job.running_since = r.optional_time("running_since");
    job.asked_since = r.optional_time("asked_since");
    job.drained_since = r.optional_time("drained_since");
    job.last_drain = r.optional_time("last_drain");
    job.last_cancel = r.optional_time("last_cancel");
    job.drains = read_count(r, "drains");
    job.cancel_arrived = r.boolean("cancel_arrived");
    job.ending_since = r.optional_time("ending_since");
    return job;
}

Intent read_intent(json::ObjectReader& r)
{
    return {{r.text("id")},
            {r.text("window")},
            r.optional_time("since").value_or(Time{}),
            r.boolean("in_doubt")};
}

json::Object to_json(TrackedJob const& job)
{
    return {{"id", job.id.value},
            {"window", job.window.value},
            {"intent", job.intent.value},
            {"state", job.launcher_state},
            {"submitted", json::time_or_null(job.submitted)},
            {"running_since", json::time_or_null(job.running_since)},
            {"asked_since", json::time_or_null(job.asked_since)},
            {"drained_since", json::time_or_null(job.drained_since)},
            {"last_drain", json::time_or_null(job.last_drain)},
            {"last_cancel", json::time_or_null(job.last_cancel)},
            {"drains", job.drains},
            {"cancel_arrived", job.cancel_arrived},
            {"ending_since", json::time_or_null(job.ending_since)}};
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
    json::Object object{
        {"jobs", json::array_of(state.jobs, [](TrackedJob const& job) { return to_json(job); })}};
    if (state.intent) object.set("intent", to_json(*state.intent));
    object.set("failures", state.failures)
        .set("setbacks", state.setbacks)
        .set("retry_at", json::time_or_null(state.retry_at))
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
    state.retry_at = r.optional_time("retry_at");
    state.failure = r.text("failure");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return state;
}

}  // namespace curtail::plan
