// SPDX-License-Identifier: Apache-2.0
#include "run/samples/watttime_points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail::samples::watttime {
namespace {

// An empty object if `value` is of another type.
json::Object const& object_of(json::Value const& value)
{
    static json::Object const none;
    auto const* object = value.as_object();
    return object == nullptr ? none : *object;
}

// A text member of an object, printable. Empty if it is missing or has another type.
std::string text_of(json::Value const& value, std::string_view key)
{
    return printable(object_of(value).text_at(key));
}

json::Array const* list_of(json::Value const& value, std::string_view key)
{
    auto const* member = object_of(value).find(key);
    return member == nullptr ? nullptr : member->as_array();
}

tl::unexpected<Error> unusable(std::string const& source, std::string why)
{
    return fail(ExitCode::data, "cannot use the response of " + source, std::move(why));
}

Result<void> check_meta(json::Value const* meta, RegionId const& region, std::string const& source)
{
    if (meta == nullptr || meta->as_object() == nullptr)
        return unusable(source, "it has no object \"meta\"");
    if (auto const found = text_of(*meta, "units"); found != units)
        return unusable(source, "its units are \"" + found + "\", not " + units);
    if (auto const found = text_of(*meta, "signal_type"); found != signal_type)
        return unusable(source, "its signal is \"" + found + "\", not " + signal_type);
    if (auto const found = text_of(*meta, "region"); found != region.value)
        return unusable(source, "its region is \"" + found + "\"");
    return {};
}

std::vector<std::string> warnings_of(json::Value const& meta)
{
    std::vector<std::string> warnings;
    auto const* list = list_of(meta, "warnings");  // often null
    if (list == nullptr) return warnings;
    for (auto const& warning : *list)
        warnings.push_back(text_of(warning, "type") + ": " + text_of(warning, "message"));
    return warnings;
}

Result<std::optional<GramsPerKwh>> read_intensity(json::Value const& point, Time time,
                                                  std::string const& source)
{
    auto const* value = object_of(point).find("value");
    if (value == nullptr)
        return unusable(source, "the point at " + format_time(time) + " has no value");
    if (value->is_null()) return std::optional<GramsPerKwh>{};
    auto const lbs = value->as_number();
    if (!lbs)
        return unusable(source, "the value at " + format_time(time) + " is " + value->type_name() +
                                    ", not a number");
    auto const intensity = from_lbs_per_mwh(*lbs);
    if (!is_plausible(intensity))
        return unusable(source, fmt::format("the value at {} is {:g} g/kWh, outside {:g} to {:g}",
                                            format_time(time), intensity.value, min_intensity.value,
                                            max_intensity.value));
    return std::optional(intensity);
}

// Returns what the metadata of a response say about all its points.
Sample common_of(json::Value const& meta)
{
    Sample common;
    common.provider = provider;
    common.generated_at = object_of(meta).time_at("generated_at");
    auto const seconds = object_of(meta).integer_at("data_point_period_seconds").value_or(0);
    if (seconds > 0 && seconds <= longest_period.count()) common.period = Seconds(seconds);
    auto const* model = object_of(meta).find("model");
    SampleOrigin origin{{}, units, {}, {}, {}, licence, {}};
    if (model != nullptr) origin.model = text_of(*model, "date");
    common.origin = std::move(origin);
    return common;
}

Result<Sample> read_point(json::Value const& point, Sample sample, std::string const& source)
{
    auto const time = parse_time(text_of(point, "point_time"));
    if (!time) return unusable(source, time.error().what + ": " + time.error().why);
    auto const intensity = read_intensity(point, *time, source);
    if (!intensity) return tl::unexpected(intensity.error());
    sample.time = *time;
    sample.intensity = *intensity;
    sample.origin->value = object_of(point).number_at("value");
    sample.estimated = object_of(point).bool_at("imputed_data_used");
    return sample;
}

}  // namespace

Result<Points> read_points(json::Value const& response, RegionId const& region,
                           std::string const& source)
{
    auto const* meta = object_of(response).find("meta");
    if (auto good = check_meta(meta, region, source); !good) return tl::unexpected(good.error());
    auto const* list = list_of(response, "data");
    if (list == nullptr) return unusable(source, "it has no list \"data\"");
    auto const common = common_of(*meta);
    Points points{{}, warnings_of(*meta)};
    points.samples.reserve(list->size());
    for (auto const& point : *list) {
        auto sample = read_point(point, common, source);
        if (!sample) return tl::unexpected(sample.error());
        points.samples.push_back(std::move(*sample));
    }
    std::ranges::stable_sort(points.samples, {}, &Sample::time);
    auto const same_time = [](auto const& a, auto const& b) { return a.time == b.time; };
    points.samples.erase(std::unique(points.samples.begin(), points.samples.end(), same_time),
                         points.samples.end());
    return points;
}

}  // namespace curtail::samples::watttime
