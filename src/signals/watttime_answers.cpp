// SPDX-License-Identifier: Apache-2.0
#include "signals/watttime_answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"

namespace curtail::signals::watttime {
namespace {

/// A member of an object that is text; empty if there is none.
std::string text_of(json::Value const* value, std::string_view key)
{
    auto const* object = value == nullptr ? nullptr : value->as_object();
    auto const* member = object == nullptr ? nullptr : object->find(key);
    auto const* text = member == nullptr ? nullptr : member->as_text();
    return text == nullptr ? std::string() : printable(*text);
}

json::Value const* member_of(json::Value const& value, std::string_view key)
{
    auto const* object = value.as_object();
    return object == nullptr ? nullptr : object->find(key);
}

std::optional<Error> check_meta(json::Value const* meta, RegionId const& region,
                                std::string const& what)
{
    auto const refuse = [&](std::string why) {
        return Error{ExitCode::data, what, std::move(why), "nothing of it is used"};
    };
    if (meta == nullptr || meta->as_object() == nullptr) return refuse("the answer has no meta");
    if (auto const found = text_of(meta, "units"); found != units)
        return refuse("its units are \"" + found + "\", not " + units + ": that is no intensity");
    if (auto const found = text_of(meta, "signal_type"); found != signal_type)
        return refuse("its signal is \"" + found + "\", not " + signal_type);
    if (auto const found = text_of(meta, "region"); found != region.value)
        return refuse("it is about \"" + found + "\"");
    return std::nullopt;
}

std::vector<std::string> warnings_of(json::Value const& meta)
{
    std::vector<std::string> warnings;
    auto const* member = member_of(meta, "warnings");
    auto const* list = member == nullptr ? nullptr : member->as_array();  // null is usual
    if (list == nullptr) return warnings;
    for (auto const& warning : *list)
        warnings.push_back(text_of(&warning, "type") + ": " + text_of(&warning, "message"));
    return warnings;
}

Result<Sample> read_point(json::Value const& point, std::optional<Time> generated_at,
                          std::string const& what)
{
    auto const refuse = [&](std::string why) {
        return fail(ExitCode::data, what, std::move(why), "nothing of it is used");
    };
    auto const time = parse_time(text_of(&point, "point_time"));
    if (!time) return refuse("a point's " + time.error().what + ": " + time.error().why);
    Sample sample{*time, {}, "watttime", SignalType::marginal, {}, generated_at};
    auto const* value = member_of(point, "value");
    if (value == nullptr) return refuse("the point of " + format_time(*time) + " has no value");
    if (!value->is_null()) {
        auto const lbs = value->as_number();
        if (!lbs)
            return refuse("the value of " + format_time(*time) + " is " + value->type_name() +
                          ", not a number");
        sample.intensity = from_lbs_per_mwh(*lbs);
        if (!is_believable(*sample.intensity))
            return refuse(fmt::format("the value of {} is {:g} g/kWh, outside {:g} to {:g}",
                                      format_time(*time), sample.intensity->value,
                                      least_intensity.value, greatest_intensity.value));
    }
    if (auto const* imputed = member_of(point, "imputed_data_used"))
        if (auto const* used = imputed->as_bool()) sample.estimated = *used;
    return sample;
}

/// What the provider itself says about a failure.
std::string own_words(json::Value const& answer)
{
    auto const error = text_of(&answer, "error");
    auto const message = text_of(&answer, "message");
    return error + (error.empty() || message.empty() ? "" : ": ") + message;
}

Error later(http::Response const& response, std::string const& what)
{
    auto const why = response.status == 429
                         ? std::string("too many requests (HTTP 429)")
                         : fmt::format("the server has a problem (HTTP {})", response.status);
    return {ExitCode::temporary, what, why, "it will be asked again"};
}

}  // namespace

Result<Points> read_points(json::Value const& answer, RegionId const& region,
                           std::string const& source)
{
    auto const what = "cannot use the answer of " + source;
    auto const* meta = member_of(answer, "meta");
    if (auto error = check_meta(meta, region, what)) return tl::unexpected(*error);
    auto const* data = member_of(answer, "data");
    auto const* list = data == nullptr ? nullptr : data->as_array();
    if (list == nullptr) return fail(ExitCode::data, what, "it has no list of data");
    std::optional<Time> generated_at;
    if (auto const time = parse_time(text_of(meta, "generated_at"))) generated_at = *time;
    Points points{{}, warnings_of(*meta)};
    points.samples.reserve(list->size());
    for (auto const& point : *list) {
        auto sample = read_point(point, generated_at, what);
        if (!sample) return tl::unexpected(sample.error());
        points.samples.push_back(std::move(*sample));
    }
    auto const earlier = [](Sample const& a, Sample const& b) { return a.time < b.time; };
    auto const same = [](Sample const& a, Sample const& b) { return a.time == b.time; };
    std::stable_sort(points.samples.begin(), points.samples.end(), earlier);
    points.samples.erase(std::unique(points.samples.begin(), points.samples.end(), same),
                         points.samples.end());
    return points;
}

Result<Secret> read_token(std::string const& body, std::string const& source)
{
    auto const what = "cannot use the answer of " + source;
    auto answer = json::parse(body, source, json::Dialect::strict, json::record_limits);
    if (!answer) return fail(ExitCode::data, what, "it is not JSON");
    auto const* member = member_of(*answer, "token");
    auto const* text = member == nullptr ? nullptr : member->as_text();
    if (text == nullptr || text->empty() || text->find('\0') != std::string::npos)
        return fail(ExitCode::data, what, "it holds no token");
    Secret token(*text);
    wipe(const_cast<std::string&>(*text));  // `answer` is ours, only its accessors are const
    return token;
}

Judged judge(http::Response const& response, std::string const& source)
{
    auto const what = "cannot use the answer of " + source;
    if (response.status == 429 || response.status >= 500)
        return {Verdict::try_later, {}, later(response, what)};
    auto parsed = json::parse(response.body, source, json::Dialect::strict, json::response_limits);
    if (response.status == 200) {
        if (parsed) return {Verdict::good, std::move(*parsed), {}};
        return {Verdict::log_in,
                {},
                {ExitCode::data, what, parsed.error().why, "nothing of it is used"}};
    }
    auto const words = parsed ? own_words(*parsed) : std::string();
    auto const why = fmt::format("HTTP {}{}{}", response.status, words.empty() ? "" : ", ", words);
    if (response.status == 403 && words.find("scope") != std::string::npos)
        return {Verdict::no_access,
                {},
                {ExitCode::permission, what,
                 "this account has no access to that region or signal (" + words + ")",
                 "a free account sees CAISO_NORTH only: name that region, or ask WattTime for a "
                 "plan that covers yours"}};
    if (response.status == 401 || response.status == 403)
        return {Verdict::log_in,
                {},
                {ExitCode::permission, what, "a new token is refused (" + why + ")",
                 "check the account at WattTime"}};
    return {Verdict::unexpected,
            {},
            {response.status == 400 || response.status == 404 ? ExitCode::config : ExitCode::data,
             what, why, ""}};
}

Error login_error(http::Response const& response, std::string const& source)
{
    auto const what = "cannot log in at " + source;
    if (response.status == 429 || response.status >= 500) return later(response, what);
    if (response.status == 401 || response.status == 403)
        return {ExitCode::permission, what,
                fmt::format("user name or password is wrong (HTTP {})", response.status),
                "correct the credentials file"};
    return {ExitCode::data, what, fmt::format("HTTP {}", response.status), "check the address"};
}

}  // namespace curtail::signals::watttime
