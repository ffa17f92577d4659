#include "signals/watttime_provider.hpp"

#include <algorithm>

#include "core/files.hpp"
#include "core/text.hpp"
#include "signals/private_file.hpp"

namespace curtail::signals {
namespace {

constexpr std::size_t kept_samples = 288;  // a day of five minutes
constexpr Seconds first_rest{30};
constexpr Seconds longest_rest{300};

json::Value to_json(Sample const& sample)
{
    json::Value intensity;
    if (sample.intensity) intensity = sample.intensity->value;
    json::Value generated_at;
    if (sample.generated_at) generated_at = format_time(*sample.generated_at);
    return json::Object{{"time", format_time(sample.time)}, {"g_per_kwh", intensity}, {"generated_at", generated_at}};
}

std::optional<Sample> sample_of(json::ObjectReader& r)
{
    auto const time = parse_time(r.text("time"));
    auto const intensity = r.optional_number("g_per_kwh");
    auto const generated_at = r.optional_text("generated_at");
    if (!r.good() || !time || (intensity && !is_believable({*intensity}))) return std::nullopt;
    Sample sample{*time, {}, "watttime", Kind::marginal, {}, {}};
    if (intensity) sample.intensity = GramsPerKwh{*intensity};
    if (auto const t = generated_at ? parse_time(*generated_at) : Result<Time>{}; generated_at && t) sample.generated_at = *t;
    return sample;
}

/// Puts a sample in its place; a newer one of the same time replaces the older.
void insert(std::vector<Sample>& samples, Sample sample)
{
    auto const place = std::lower_bound(samples.begin(), samples.end(), sample.time, [](Sample const& s, Time t) { return s.time < t; });
    if (place != samples.end() && place->time == sample.time) *place = std::move(sample);
    else samples.insert(place, std::move(sample));
    if (samples.size() > kept_samples) samples.erase(samples.begin());
}

bool covers(std::vector<Sample> const& samples, Time now)
{
    return std::any_of(samples.begin(), samples.end(),
                       [&](Sample const& s) { return s.time <= now && now < s.time + watttime::data_period; });
}

}  // namespace

WattTimeProvider::WattTimeProvider(watttime::Client client, std::filesystem::path state_folder, Log log)
    : client_(std::move(client)), state_folder_(std::move(state_folder)), log_(std::move(log))
{
}

Answer WattTimeProvider::samples(RegionId const& region, Time from, Time to)
{
    auto& known = recall(region);
    if (!covers(known.samples, to) && (!known.not_before || mono_now() >= *known.not_before)) ask(region, known, to);
    Answer answer{{}, known.trouble};
    for (auto const& sample : known.samples)
        if (sample.time >= from && sample.time <= to) answer.samples.push_back(sample);
    return answer;
}

void WattTimeProvider::ask(RegionId const& id, Region& region, Time now)
{
    auto live = client_.live(id);
    if (!live) {
        Seconds const rest = std::min(longest_rest, first_rest * (1 << std::min(region.failures, 4)));
        ++region.failures;
        region.not_before = mono_now() + rest;
        region.trouble = live.error();
        return;
    }
    region.failures = 0;
    region.not_before = mono_now() + first_rest;  // a server that is late with its next value is not asked without pause
    region.trouble.reset();
    for (auto const& warning : live->warnings) log_.warning("WattTime about " + id.value + ": " + warning);
    Time const time = live->samples.front().time;
    if (time > now + watttime::data_period) {
        region.trouble = Error{ExitCode::data, "cannot use WattTime's value for " + id.value,
                               "it is of " + format_time(time) + ", this machine's clock shows " + format_time(now), "set the clock"};
        return;
    }
    insert(region.samples, std::move(live->samples.front()));
    keep(id, region);
}

std::filesystem::path WattTimeProvider::file_of(RegionId const& region) const
{
    return state_folder_ / ("watttime-" + region.value + ".json");
}

WattTimeProvider::Region& WattTimeProvider::recall(RegionId const& id)
{
    auto const [place, is_new] = regions_.try_emplace(id);
    auto& region = place->second;
    // What others could have written is not believed; the client says so when it is asked.
    if (!is_new || !is_plain_name(id.value) || !ensure_private_folder(state_folder_)) return region;
    auto const text = read_file_if_there(file_of(id), static_cast<std::int64_t>(json::record_limits.bytes));
    if (!text || !*text) return region;
    auto const value = json::parse(**text, file_of(id).string(), json::Dialect::strict, json::record_limits);
    if (!value) {
        log_.warning(value.error().message() + "; earlier values are forgotten");
        return region;
    }
    json::ObjectReader r(*value, file_of(id).string());
    r.each("samples", [&](json::ObjectReader& o) {
        if (auto sample = sample_of(o)) insert(region.samples, std::move(*sample));
    });
    if (auto const error = r.finish()) log_.warning(error->message() + "; earlier values may be forgotten");
    return region;
}

void WattTimeProvider::keep(RegionId const& id, Region const& region) const
{
    json::Array samples;
    for (auto const& sample : region.samples) samples.push_back(to_json(sample));
    auto const text = json::to_string(json::Object{{"samples", std::move(samples)}}) + "\n";
    if (auto written = write_file(file_of(id), text, 0600); !written) log_.warning(written.error().message());
}

}  // namespace curtail::signals
