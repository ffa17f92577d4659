// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/watttime_responses.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail::signals::watttime {
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
    if (!samples::is_plausible(intensity))
        return unusable(
            source, fmt::format("the value at {} is {:g} g/kWh, outside {:g} to {:g}",
                                format_time(time), intensity.value, samples::min_intensity.value,
                                samples::max_intensity.value));
    return std::optional(intensity);
}

// Returns what the metadata of a response say about all its points.
samples::Sample common_of(json::Value const& meta)
{
    samples::Sample common;
    common.provider = "watttime";
    common.generated_at = object_of(meta).time_at("generated_at");
    auto const seconds = object_of(meta).integer_at("data_point_period_seconds").value_or(0);
    if (seconds > 0 && seconds <= longest_period.count()) common.period = Seconds(seconds);
    auto const* model = object_of(meta).find("model");
    samples::SampleOrigin origin{{}, units, {}, {}, {}, licence, {}};
    if (model != nullptr) origin.model = text_of(*model, "date");
    common.origin = std::move(origin);
    return common;
}

Result<samples::Sample> read_point(json::Value const& point, samples::Sample sample,
                                   std::string const& source)
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

// The error for a body that is no JSON. An HTML page is that of a portal, or of a server under
// maintenance.
Error not_json(std::string const& body, std::string const& what, std::string why)
{
    auto const begin = trim(without_byte_order_mark(body));
    if (!begin.starts_with('<')) return {ExitCode::data, what, std::move(why), ""};
    return {ExitCode::temporary, what, "it is an HTML page, not JSON",
            "will retry; is there a portal or a proxy between this machine and the provider?"};
}

// Returns what the provider says about a failure.
std::string explanation_of(json::Value const& response)
{
    auto const error = text_of(response, "error");
    auto const message = text_of(response, "message");
    return error + (error.empty() || message.empty() ? "" : ": ") + message;
}

bool is_refusal(http::Response const& response)
{
    return response.status == 401 || response.status == 403;
}

Error busy_error(http::Response const& response, std::string const& what)
{
    auto const why = response.status == 429
                         ? std::string("too many requests (HTTP 429)")
                         : fmt::format("the server has a problem (HTTP {})", response.status);
    return {ExitCode::temporary, what, why, "will retry"};
}

// For a status other than 200 that is not a sign of a busy server.
Interpretation interpret_failure(http::Response const& response, std::string const& what,
                                 std::string const& explanation)
{
    auto const why =
        fmt::format("HTTP {}{}{}", response.status, explanation.empty() ? "" : ", ", explanation);
    if (response.status == 403 && explanation.find("scope") != std::string::npos)
        return {Interpretation::Kind::no_access,
                {},
                {ExitCode::permission, what,
                 "this account has no access to that region or signal (" + explanation + ")",
                 "free accounts can access only CAISO_NORTH: use that region, or a WattTime plan "
                 "that includes yours"}};
    if (is_refusal(response))
        return {Interpretation::Kind::log_in,
                {},
                {ExitCode::permission, what, "WattTime rejected a new token (" + why + ")",
                 "check the account at WattTime"}};
    auto const code =
        response.status == 400 || response.status == 404 ? ExitCode::config : ExitCode::data;
    return {Interpretation::Kind::unexpected, {}, {code, what, why, ""}};
}

}  // namespace

Secret take_secret(json::Value& object, char const* key)
{
    auto const* member = object_of(object).find(key);
    auto const* text = member == nullptr ? nullptr : member->as_text();
    if (text == nullptr || text->find('\0') != std::string::npos) return {};
    Secret secret(*text);
    wipe(const_cast<std::string&>(*text));  // `object` is not const, only its accessors are
    return secret;
}

bool is_busy(http::Response const& response)
{
    return response.status == 429 || response.status >= 500;
}

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
    std::ranges::stable_sort(points.samples, {}, &samples::Sample::time);
    auto const same_time = [](auto const& a, auto const& b) { return a.time == b.time; };
    points.samples.erase(std::unique(points.samples.begin(), points.samples.end(), same_time),
                         points.samples.end());
    return points;
}

Result<Secret> read_token(std::string const& body, std::string const& source)
{
    auto response = json::parse(body, source, json::Dialect::strict, json::record_limits);
    if (!response)
        return tl::unexpected(
            not_json(body, "cannot use the response of " + source, "it is not JSON"));
    auto token = take_secret(*response, "token");
    if (token.empty()) return unusable(source, "it has no token");
    return token;
}

Interpretation interpret(http::Response const& response, std::string const& source)
{
    auto const what = "cannot use the response of " + source;
    if (is_busy(response)) return {Interpretation::Kind::try_later, {}, busy_error(response, what)};
    auto parsed = json::parse(response.body, source, json::Dialect::strict, json::response_limits);
    if (response.status != 200)
        return interpret_failure(response, what, parsed ? explanation_of(*parsed) : "");
    if (!parsed)
        return {
            Interpretation::Kind::log_in, {}, not_json(response.body, what, parsed.error().why)};
    return {Interpretation::Kind::good, std::move(*parsed), {}};
}

Error login_error(http::Response const& response, std::string const& source)
{
    auto const what = "cannot log in at " + source;
    if (is_busy(response)) return busy_error(response, what);
    if (is_refusal(response))
        return {ExitCode::permission, what,
                fmt::format("wrong user name or password (HTTP {})", response.status),
                "correct the credentials file"};
    return {ExitCode::data, what, fmt::format("HTTP {}", response.status), "check the address"};
}

}  // namespace curtail::signals::watttime
