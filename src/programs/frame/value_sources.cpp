// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/value_sources.hpp"

#include <cctype>
#include <cstdlib>

#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "base/core/trust.hpp"

namespace curtail::programs {
namespace {

std::string environment_name(std::string const& option)
{
    std::string name = "CURTAIL_";
    for (char c : option)
        name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

// An empty variable counts as unset.
Result<void> add_environment(std::vector<Option> const& options, OptionValues& values)
{
    for (auto const& option : options) {
        auto const name = environment_name(option.name);
        char const* const text = std::getenv(name.c_str());
        if (text == nullptr || *text == '\0' || values.count(option.name) > 0) continue;
        if (auto why = problem_with(option, text); !why.empty())
            return fail(ExitCode::usage, name + "=" + printable(text), std::move(why),
                        "correct or unset the variable");
        values[option.name] = {text};
    }
    return {};
}

// Returns the name of the type, and whether `value` has it.
std::pair<char const*, bool> check_type(json::Value const& value, OptionType type)
{
    switch (type) {
        case OptionType::flag:
            return {"true or false", value.as_bool() != nullptr};
        case OptionType::text:
            return {"text", value.as_text() != nullptr};
        case OptionType::integer:
            return {"an integer", value.as_integer() != nullptr};
        case OptionType::number:
            return {"a number", value.as_number().has_value()};
    }
    __builtin_unreachable();
}

// The value as text of a command line. Reports a wrong type or value to `reader`.
std::string option_text(Option const& option, json::Value const& value, json::ObjectReader& reader)
{
    auto const [wanted, is_right] = check_type(value, option.type);
    reader.require(is_right, option.name,
                   std::string("must be ") + wanted + ", found " + value.type_name());
    auto const* text = value.as_text();
    auto result = text != nullptr ? *text : json::to_string(value);
    auto const why = problem_with(option, result);
    reader.require(why.empty(), option.name, why);
    return result;
}

Result<void> add_file(std::string const& path, std::vector<Option> const& options,
                      OptionValues& values)
{
    if (auto good = check_access(path, trust_in_colleagues()); !good)
        return tl::unexpected(good.error());
    auto const file = json::parse_settings(path);
    if (!file) return tl::unexpected(file.error());
    json::ObjectReader reader(*file, path, ExitCode::config);
    for (auto const& option : options) {
        auto const* value = reader.any(option.name);
        if (value == nullptr) continue;
        json::Array const single{*value};
        auto const* list = option.repeated ? value->as_array() : nullptr;
        std::vector<std::string> texts;
        for (auto const& element : list != nullptr ? *list : single)
            texts.push_back(option_text(option, element, reader));
        if (!texts.empty()) values.try_emplace(option.name, std::move(texts));
    }
    if (auto error = reader.finish()) return tl::unexpected(*error);
    return {};
}

Result<void> add_defaults(std::vector<Option> const& options, OptionValues& values)
{
    for (auto const& option : options) {
        if (values.count(option.name) > 0) continue;
        if (option.required)
            return fail(ExitCode::usage, "missing option --" + option.name, option.help,
                        "see --help");
        if (!option.fallback.empty()) values[option.name] = {option.fallback};
    }
    return {};
}

}  // namespace

Result<void> complete(std::vector<Option> const& options, std::string const& config,
                      OptionValues& values)
{
    if (auto added = add_environment(options, values); !added) return added;
    if (!config.empty())
        if (auto added = add_file(config, options, values); !added) return added;
    return add_defaults(options, values);
}

}  // namespace curtail::programs
