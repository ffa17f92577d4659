// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/watttime_state.hpp"

#include <algorithm>

#include "base/core/files.hpp"
#include "base/core/json.hpp"
#include "base/core/private_file.hpp"
#include "run/samples/watttime_points.hpp"

namespace curtail::signals::watttime {
namespace {

constexpr std::size_t max_samples = 288;  // a day of five-minute values
// Of so many of the newest samples, the file keeps the origin: if the log of the samples could not
// be written, the next poll writes it.
constexpr std::size_t max_origins = 12;

json::Object to_json(samples::Sample const& sample)
{
    json::Object out{{"time", format_time(sample.time)},
                     {"g_per_kwh", json::value_or_null(sample.intensity)},
                     {"generated_at", json::time_or_null(sample.generated_at)}};
    if (sample.period) out.set("period_s", floor<Seconds>(*sample.period).count());
    if (sample.estimated) out.set("estimated", *sample.estimated);
    if (sample.origin) samples::add_origin(out, *sample.origin);
    return out;
}

json::Object to_json(Error const& error)
{
    return {{"code", static_cast<int>(error.code)},
            {"what", error.what},
            {"why", error.why},
            {"remedy", error.remedy}};
}

// Returns an empty optional if the time is absent or invalid.
std::optional<Time> read_optional_time(json::ObjectReader& r, std::string const& key)
{
    auto const time = parse_time(r.optional_text(key).value_or(""));
    return time ? std::optional(*time) : std::nullopt;
}

std::optional<samples::SampleOrigin> read_origin(json::ObjectReader& r)
{
    json::Object members;
    for (char const* key : {"endpoint", "unit", "value", "received", "model", "licence", "answer"})
        if (auto const* value = r.any(key)) members.set(key, *value);
    return samples::origin_in(members);
}

std::optional<samples::Sample> read_sample(json::ObjectReader& r)
{
    auto const time = parse_time(r.text("time"));
    auto const intensity = r.optional_number("g_per_kwh");
    auto const generated_at = read_optional_time(r, "generated_at");
    auto const period = r.optional_integer("period_s");
    auto const* estimated = r.any("estimated");
    if (!r.error_free() || !time || (intensity && !samples::is_plausible({*intensity})))
        return std::nullopt;
    samples::Sample sample{
        {*time, {}}, samples::watttime::provider, samples::SignalType::marginal, generated_at};
    if (period && *period > 0 && *period <= samples::watttime::longest_period.count())
        sample.period = Seconds(*period);
    if (estimated != nullptr && estimated->as_bool() != nullptr)
        sample.estimated = *estimated->as_bool();
    if (intensity) sample.intensity = GramsPerKwh{*intensity};
    sample.origin = read_origin(r);
    return sample;
}

RegionState read_fields(json::ObjectReader& r)
{
    RegionState state;
    r.each("samples", [&](json::ObjectReader& o) {
        if (auto sample = read_sample(o)) insert(state.samples, std::move(*sample));
    });
    auto const failures = r.optional_integer("failures").value_or(0);
    state.failures = static_cast<int>(std::clamp<std::int64_t>(failures, 0, max_failures));
    state.not_before = read_optional_time(r, "not_before");
    state.server_asked = r.boolean("rest_asked", false);
    auto const read_problem = [&](json::ObjectReader& o) {
        state.problem = Error{static_cast<ExitCode>(o.integer("code")), o.text("what"),
                              o.text("why"), o.text("remedy")};
    };
    r.object("trouble", read_problem, false);
    return state;
}

}  // namespace

void insert(std::vector<samples::Sample>& samples, samples::Sample sample)
{
    auto const place = std::ranges::lower_bound(samples, sample.time, {}, &samples::Sample::time);
    bool const is_known = place != samples.end() && place->time == sample.time;
    if (!is_known) samples.insert(place, std::move(sample));
    // Windows and bill have the value that was first known, also if the provider revises it.
    else if (!place->intensity) *place = std::move(sample);
    if (samples.size() > max_samples) samples.erase(samples.begin());
}

RegionState read_state(std::filesystem::path const& file, Log const& log)
{
    auto const limits = json::record_limits;
    // The client reports a folder that is open to others when it queries the server.
    auto const text = read_private_file(file, static_cast<std::int64_t>(limits.bytes));
    if (!text || !*text) return {};
    auto const value = json::parse(**text, file.string(), json::Dialect::strict, limits);
    if (!value) {
        log.warning(value.error().message() + "; discarding earlier values");
        return {};
    }
    json::ObjectReader r(*value, file.string());
    auto state = read_fields(r);
    if (auto const error = r.finish())
        log.warning(error->message() + "; discarding some earlier values");
    return state;
}

Result<void> write_state(std::filesystem::path const& file, RegionState const& state)
{
    json::Array samples;
    for (std::size_t i = 0; i < state.samples.size(); ++i) {
        auto sample = state.samples[i];
        if (i + max_origins < state.samples.size()) sample.origin.reset();
        samples.push_back(to_json(sample));
    }
    json::Object content{{"samples", std::move(samples)}, {"failures", state.failures}};
    if (state.not_before)
        content.set("not_before", format_time(*state.not_before))
            .set("rest_asked", state.server_asked);
    if (state.problem) content.set("trouble", to_json(*state.problem));
    return write_file(file, json::to_string(content) + "\n", 0600);
}

}  // namespace curtail::signals::watttime
