// SPDX-License-Identifier: Apache-2.0
#include "signals/watttime_provider.hpp"

#include <algorithm>

#include "core/files.hpp"
#include "core/private_file.hpp"
#include "core/text.hpp"

namespace curtail::signals {
namespace {

constexpr std::size_t kept_samples = 288;  // a day of five minutes
constexpr Seconds first_rest{30};
constexpr int most_failures =
    4;  // that count: 30 s, doubled so often, is more than the longest rest
constexpr Seconds longest_rest{300};
/// More than this is not believed, of a server or of a file: a slip of a clock must not silence a
/// region for days.
constexpr Seconds longest_asked_rest{3600};

json::Value to_json(Sample const& sample)
{
    json::Value intensity;
    if (sample.intensity) intensity = sample.intensity->value;
    json::Value generated_at;
    if (sample.generated_at) generated_at = format_time(*sample.generated_at);
    return json::Object{{"time", format_time(sample.time)},
                        {"g_per_kwh", intensity},
                        {"generated_at", generated_at}};
}

std::optional<Sample> sample_of(json::ObjectReader& r)
{
    auto const time = parse_time(r.text("time"));
    auto const intensity = r.optional_number("g_per_kwh");
    auto const generated_at = r.optional_text("generated_at");
    if (!r.good() || !time || (intensity && !is_believable({*intensity}))) return std::nullopt;
    Sample sample{*time, {}, "watttime", SignalType::marginal, {}, {}};
    if (intensity) sample.intensity = GramsPerKwh{*intensity};
    if (auto const t = generated_at ? parse_time(*generated_at) : Result<Time>{}; generated_at && t)
        sample.generated_at = *t;
    return sample;
}

/// Puts a sample in its place; a newer one of the same time replaces the older.
void insert(std::vector<Sample>& samples, Sample sample)
{
    auto const place = std::lower_bound(samples.begin(), samples.end(), sample.time,
                                        [](Sample const& s, Time t) { return s.time < t; });
    if (place != samples.end() && place->time == sample.time) *place = std::move(sample);
    else samples.insert(place, std::move(sample));
    if (samples.size() > kept_samples) samples.erase(samples.begin());
}

/// Whether `file` was written after `other` or with it. False if either is not there.
bool is_newer(std::filesystem::path const& file, std::filesystem::path const& other)
{
    std::error_code none;
    auto const time = std::filesystem::last_write_time(file, none);
    std::error_code no_other;
    auto const other_time = std::filesystem::last_write_time(other, no_other);
    return !none && !no_other && time >= other_time;
}

bool covers(std::vector<Sample> const& samples, Time now)
{
    return std::any_of(samples.begin(), samples.end(), [&](Sample const& s) {
        return s.time <= now && now < s.time + watttime::data_period;
    });
}

}  // namespace

Answer WattTimeProvider::samples(RegionId const& region, Time from, Time to)
{
    auto& known = recall(region);
    auto const believed = known.rest_asked ? longest_asked_rest : longest_rest;
    bool const rests =
        known.not_before && to < *known.not_before && *known.not_before <= to + believed;
    if (!covers(known.samples, to) && !rests) {
        ask(region, known, to);
        keep(region, known);
    }
    Answer answer{{}, known.trouble};
    for (auto const& sample : known.samples)
        if (sample.time >= from && sample.time <= to) answer.samples.push_back(sample);
    return answer;
}

void WattTimeProvider::ask(RegionId const& id, Region& region, Time now)
{
    auto live = client_.live(id);
    if (!live) {
        Seconds const own_rest = std::min(longest_rest, first_rest * (1 << region.failures));
        region.failures = std::min(region.failures + 1, most_failures);
        Seconds const asked_rest = std::min(client_.asked_rest(), longest_asked_rest);
        region.not_before = now + std::max(own_rest, asked_rest);
        region.rest_asked = asked_rest > own_rest;
        region.trouble = live.error();
        return;
    }
    region.failures = 0;
    region.not_before =
        now + first_rest;  // a server that is late with its next value is not asked without pause
    region.rest_asked = false;
    region.trouble.reset();
    for (auto const& warning : live->warnings)
        options().log.warning("WattTime about " + id.value + ": " + warning);
    Time const time = live->samples.front().time;
    if (time > now + watttime::data_period) {
        region.trouble = Error{
            ExitCode::data, "cannot use WattTime's value for " + id.value,
            "it is of " + format_time(time) + ", this machine's clock shows " + format_time(now),
            "set the clock"};
        return;
    }
    if (now - time >= 2 * watttime::data_period)
        region.trouble =
            Error{ExitCode::temporary, "WattTime has nothing new for " + id.value,
                  "its newest value is of " + format_time(time), "it will be asked again"};
    insert(region.samples, std::move(live->samples.front()));
}

std::filesystem::path WattTimeProvider::file_of(RegionId const& region) const
{
    return options().state_folder / ("watttime-" + region.value + ".json");
}

WattTimeProvider::Region& WattTimeProvider::recall(RegionId const& id)
{
    auto const [place, is_new] = regions_.try_emplace(id);
    auto& region = place->second;
    // What others could have written is not believed; the client says so when it is asked.
    if (!is_new || !is_plain_name(id.value)) return region;
    auto const text =
        read_private_file(file_of(id), static_cast<std::int64_t>(json::record_limits.bytes));
    if (!text || !*text) return region;
    auto const value =
        json::parse(**text, file_of(id).string(), json::Dialect::strict, json::record_limits);
    if (!value) {
        options().log.warning(value.error().message() + "; earlier values are forgotten");
        return region;
    }
    json::ObjectReader r(*value, file_of(id).string());
    r.each("samples", [&](json::ObjectReader& o) {
        if (auto sample = sample_of(o)) insert(region.samples, std::move(*sample));
    });
    region.failures = static_cast<int>(
        std::clamp<std::int64_t>(r.optional_integer("failures").value_or(0), 0, most_failures));
    if (auto const text_of_time = r.optional_text("not_before"))
        if (auto const time = parse_time(*text_of_time)) region.not_before = *time;
    region.rest_asked = r.boolean("rest_asked", false);
    r.object(
        "trouble",
        [&](json::ObjectReader& o) {
            region.trouble = Error{static_cast<ExitCode>(o.integer("code")), o.text("what"),
                                   o.text("why"), o.text("remedy")};
        },
        false);
    if (auto const error = r.finish())
        options().log.warning(error->message() + "; earlier values may be forgotten");
    bool const was_refused =
        region.trouble && region.trouble->code == ExitCode::permission && !region.rest_asked;
    if (was_refused && is_newer(options().credentials_file, file_of(id))) region.not_before.reset();
    return region;
}

void WattTimeProvider::keep(RegionId const& id, Region const& region) const
{
    // Into a folder that is not ours alone nothing is written; the client says so.
    if (!options().writes || !is_plain_name(id.value) ||
        !ensure_private_folder(options().state_folder))
        return;
    json::Array samples;
    for (auto const& sample : region.samples) samples.push_back(to_json(sample));
    json::Object content{{"samples", std::move(samples)}, {"failures", region.failures}};
    if (region.not_before)
        content.set("not_before", format_time(*region.not_before))
            .set("rest_asked", region.rest_asked);
    if (auto const& trouble = region.trouble)
        content.set("trouble", json::Object{{"code", static_cast<int>(trouble->code)},
                                            {"what", trouble->what},
                                            {"why", trouble->why},
                                            {"remedy", trouble->remedy}});
    if (auto written = write_file(file_of(id), json::to_string(content) + "\n", 0600); !written)
        options().log.warning(written.error().message());
}

}  // namespace curtail::signals
