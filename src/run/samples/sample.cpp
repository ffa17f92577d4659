// SPDX-License-Identifier: Apache-2.0
#include "run/samples/sample.hpp"

namespace curtail::samples {

char const* to_string(SignalType type)
{
    return type == SignalType::marginal ? "marginal" : "average";
}

std::optional<SignalType> signal_type_named(std::string_view name)
{
    for (auto const type : {SignalType::marginal, SignalType::average})
        if (name == to_string(type)) return type;
    return std::nullopt;
}

bool is_plausible(GramsPerKwh intensity)
{
    return intensity >= min_intensity && intensity <= max_intensity;
}

std::optional<GramsPerKwh> intensity_of_type(Sample const& sample, SignalType type)
{
    return sample.type == type ? sample.intensity : std::nullopt;
}

void add_origin(json::Object& to, SampleOrigin const& origin)
{
    to.set("endpoint", origin.endpoint);
    to.set("unit", origin.unit);
    to.set("value", origin.value);
    to.set("received", format_time(origin.received));
    to.set("model", json::text_or_null(origin.model));
    to.set("licence", json::text_or_null(origin.licence));
    to.set("answer", json::text_or_null(origin.answer));
}

json::Object line_of(RegionId const& region, Sample const& sample)
{
    json::Object line{{"region", region.value},
                      {"time", format_time(sample.time)},
                      {"intensity_gco2_per_kwh", json::value_or_null(sample.intensity)},
                      {"provider", sample.provider},
                      {"kind", to_string(sample.type)}};
    if (sample.period) line.set("period_s", FractionalSeconds(*sample.period).count());
    if (sample.estimated) line.set("estimated", *sample.estimated);
    if (sample.generated_at) line.set("generated_at", format_time(*sample.generated_at));
    if (sample.origin) add_origin(line, *sample.origin);
    return line;
}

std::optional<SampleOrigin> origin_in(json::Object const& from)
{
    auto const received = from.time_at("received");
    if (!received || from.text_at("endpoint").empty()) return std::nullopt;
    return SampleOrigin{
        from.text_at("endpoint"), from.text_at("unit"),    from.number_at("value"), *received,
        from.text_at("model"),    from.text_at("licence"), from.text_at("answer")};
}

}  // namespace curtail::samples
