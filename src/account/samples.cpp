// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "account/files.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::account {
namespace {

struct Line {
    std::string region;
    energy::IntensityPoint point;
    std::string provider;
};

std::optional<Line> parse_line(std::string_view line)
{
    auto const value = json::parse(line, "signals");
    auto const* object = value ? value->as_object() : nullptr;
    if (object == nullptr) return std::nullopt;
    auto const text = [&](char const* key) {
        auto const* found = object->find(key);
        return found != nullptr && found->as_text() != nullptr ? *found->as_text() : std::string{};
    };
    auto const time = parse_time(text("time"));
    auto const* intensity = object->find("intensity_gco2_per_kwh");
    if (!time || text("region").empty() || intensity == nullptr) return std::nullopt;
    auto const number = intensity->as_number();
    if (!intensity->is_null() && !(number && std::isfinite(*number))) return std::nullopt;
    return Line{text("region"),
                {*time, number ? std::optional(GramsPerKwh{*number}) : std::nullopt},
                text("provider")};
}

/// How long a sample of a region counts.
Millis max_age_of(std::string const& region, std::vector<config::Site> const& sites)
{
    Millis age{0};
    for (auto const& site : sites)
        if (site.region.value == region) age = std::max(age, site.signal_max_age);
    return age;
}

std::vector<energy::IntensityPoint> with_gaps(
    std::map<Time, std::optional<GramsPerKwh>> const& samples, Millis max_age)
{
    std::vector<energy::IntensityPoint> out;
    for (auto const& [time, intensity] : samples) {
        if (!out.empty() && time - out.back().time > max_age)
            out.push_back({out.back().time + Millis{1}, std::nullopt});
        out.push_back({time, intensity});
    }
    return out;
}

}  // namespace

Result<SampleFile> read_samples(std::filesystem::path const& path,
                                std::vector<config::Site> const& sites)
{
    auto const content = read_file_if_exists(path);
    if (!content) return tl::unexpected(content.error());
    SampleFile file;
    if (!*content) return file;
    std::vector<std::string> order;
    std::map<std::string, std::map<Time, std::optional<GramsPerKwh>>> samples;
    std::set<std::string> providers;
    for (auto const line : split(**content, '\n')) {
        if (trim(line).empty()) continue;
        auto const parsed = parse_line(line);
        if (!parsed) {
            ++file.broken_lines;
            continue;
        }
        if (samples.count(parsed->region) == 0) order.push_back(parsed->region);
        samples[parsed->region][parsed->point.time] = parsed->point.intensity;
        if (!parsed->provider.empty()) providers.insert(parsed->provider);
    }
    for (auto const& region : order)
        file.regions.push_back({{region}, with_gaps(samples[region], max_age_of(region, sites))});
    for (auto const& provider : providers)
        file.providers += (file.providers.empty() ? "" : ", ") + provider;
    return file;
}

}  // namespace curtail::account
