// SPDX-License-Identifier: Apache-2.0
#include "store/object_name.hpp"

#include <algorithm>
#include <array>

#include "core/ids.hpp"
#include "core/text.hpp"

namespace curtail::store {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

bool is_number(std::string_view text, std::size_t least = 1, std::size_t most = 18)
{
    return text.size() >= least && text.size() <= most &&
           std::all_of(text.begin(), text.end(), is_digit);
}

bool is_part(std::string_view text)
{
    return !text.empty() && text.size() <= 32 && is_lower(text[0]) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

/// `<site>.<8 hex>`
bool is_process(std::string_view text)
{
    if (text.size() < 10 || text[text.size() - 9] != '.') return false;
    auto const hex = text.substr(text.size() - 8);
    return is_plain_name(text.substr(0, text.size() - 9)) &&
           std::all_of(hex.begin(), hex.end(), is_hex);
}

bool is_member(std::string_view text)
{
    auto const dot = text.rfind('.');
    return dot != text.npos && is_number(text.substr(dot + 1), 1, 8) &&
           is_process(text.substr(0, dot));
}

/// `<stem>-<attempt>` where `is_stem(stem)`
bool is_attempt(std::string_view text, bool (*is_stem)(std::string_view))
{
    auto const dash = text.rfind('-');
    return dash != text.npos && is_number(text.substr(dash + 1)) && is_stem(text.substr(0, dash));
}

/// `<stem><suffix>` where `is_stem(stem)`
bool is_file(std::string_view text, std::string_view suffix, bool (*is_stem)(std::string_view))
{
    return text.size() > suffix.size() && text.substr(text.size() - suffix.size()) == suffix &&
           is_stem(text.substr(0, text.size() - suffix.size()));
}

bool is_count(std::string_view text) { return is_number(text); }
bool is_commit(std::string_view text) { return is_number(text, 8, 8); }

/// `path` is what follows `runs/<run>/`, cut at slashes.
bool is_known_form(std::vector<std::string_view> const& path)
{
    auto const is = [&](std::size_t size, std::string_view first) {
        return path.size() == size && path[0] == first;
    };
    if (is(1, "run.json")) return true;
    if (is(2, "probe")) return is_attempt(path[1], is_process);
    if (is(2, "commits")) return is_file(path[1], ".json", is_commit);
    if (is(3, "contrib")) return is_member(path[1]) && is_file(path[2], ".json", is_count);
    if (is(5, "deltas"))
        return is_count(path[1]) && is_member(path[2]) && is_count(path[3]) &&
               is_file(path[4], ".h5", is_part);
    if (is(4, "models"))
        return is_count(path[1]) && is_attempt(path[2], is_member) &&
               is_file(path[3], ".h5", is_part);
    if (is(3, "merge")) return is_count(path[1]) && is_file(path[2], ".json", is_count);
    if (is(2, "status")) return is_file(path[1], ".json", is_plain_name);
    return false;
}

}  // namespace

Result<ObjectName> ObjectName::parse(std::string_view text)
{
    constexpr std::size_t longest = 256;
    if (text.size() <= longest) {
        auto path = split(text, '/');
        if (path.size() >= 3 && path[0] == "runs" && is_plain_name(path[1])) {
            path.erase(path.begin(), path.begin() + 2);
            if (is_known_form(path)) return ObjectName(text);
        }
    }
    return fail(ExitCode::protocol, "object name \"" + printable(text.substr(0, longest)) + "\"",
                "it has none of the forms that a store may hold");
}

std::string_view ObjectName::folder() const
{
    return std::string_view(text_).substr(0, text_.rfind('/'));
}
std::string_view ObjectName::file() const
{
    return std::string_view(text_).substr(text_.rfind('/') + 1);
}

}  // namespace curtail::store
