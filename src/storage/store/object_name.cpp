// SPDX-License-Identifier: Apache-2.0
#include "storage/store/object_name.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/core/ids.hpp"
#include "base/core/text.hpp"

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

// `<site>.<8 hex>`
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

// `<stem>-<attempt>` where `is_stem(stem)`
bool is_attempt(std::string_view text, bool (*is_stem)(std::string_view))
{
    auto const dash = text.rfind('-');
    return dash != text.npos && is_number(text.substr(dash + 1)) && is_stem(text.substr(0, dash));
}

// `<stem><suffix>` where `is_stem(stem)`
bool is_file(std::string_view text, std::string_view suffix, bool (*is_stem)(std::string_view))
{
    return text.ends_with(suffix) && is_stem(text.substr(0, text.size() - suffix.size()));
}

bool is_count(std::string_view text) { return is_number(text); }
bool is_eight_digits(std::string_view text) { return is_number(text, 8, 8); }

bool is_probe(std::string_view text) { return is_attempt(text, is_process); }
bool is_model_writer(std::string_view text) { return is_attempt(text, is_member); }
bool is_commit_file(std::string_view text) { return is_file(text, ".json", is_eight_digits); }
bool is_count_file(std::string_view text) { return is_file(text, ".json", is_count); }
bool is_site_file(std::string_view text) { return is_file(text, ".json", is_plain_name); }
bool is_check(std::string_view text) { return text == "check"; }
bool is_member_file(std::string_view text) { return is_file(text, ".json", is_member); }
bool is_part_file(std::string_view text) { return is_file(text, ".h5", is_part); }
bool is_piece_file(std::string_view text) { return is_file(text, ".jsonl", is_eight_digits); }

bool is_stream(std::string_view text)
{
    return text == "poller" || text == "signals" || text == "trainer" || text == "metrics" ||
           text == "evaluation";
}

bool is_folder_segment(std::string_view text)
{
    auto const is_plain = [](char c) {
        return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z');
    };
    return !text.empty() && is_plain(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
        return is_plain(c) || c == '.' || c == '_' || c == '-';
    });
}

using IsSegment = bool (*)(std::string_view text);

// What may follow `runs/<run>/`: a fixed first segment, then segments of these kinds.
struct Form {
    std::string_view first;
    std::vector<IsSegment> rest;
};

// `path` follows `runs/<run>/` and is split at slashes.
bool has_known_form(std::span<std::string_view const> path)
{
    static std::array<Form, 16> const forms{{
        {"run.json", {}},
        {"probe", {is_probe}},
        {"commits", {is_commit_file}},
        {"contrib", {is_member, is_count_file}},
        {"deltas", {is_count, is_member, is_count, is_part_file}},
        {"models", {is_count, is_model_writer, is_part_file}},
        {"merge", {is_count, is_count_file}},
        {"amendments", {is_count_file}},
        {"repair", {is_count, is_count_file}},
        {"status", {is_site_file}},
        {"closing", {is_plain_name, is_count_file}},
        {"journal", {is_plain_name, is_stream, is_piece_file}},
        {"mpi", {is_member_file}},
        {"mpi", {is_member, is_member_file}},
        {"mpi", {is_check, is_member_file}},
        {"mpi", {is_check, is_member, is_member_file}},
    }};
    auto const matches = [](std::string_view text, IsSegment is) { return is(text); };
    return std::ranges::any_of(forms, [&](Form const& form) {
        return path[0] == form.first && std::ranges::equal(path.subspan(1), form.rest, matches);
    });
}

}  // namespace

Result<ObjectName> ObjectName::parse(std::string_view text)
{
    constexpr std::size_t longest = 256;
    if (text.size() <= longest) {
        auto const path = split(text, '/');
        if (path.size() >= 3 && path[0] == "runs" && is_plain_name(path[1]) &&
            has_known_form(std::span(path).subspan(2)))
            return ObjectName(text);
    }
    return fail(ExitCode::protocol, "object name \"" + printable(text.substr(0, longest)) + "\"",
                "not the name of any object in a store");
}

Result<ObjectFolder> ObjectFolder::parse(std::string_view text)
{
    constexpr std::size_t longest = 256;
    auto const segments = split(text, '/');
    if (text.size() <= longest && segments.front() == "runs" &&
        std::all_of(segments.begin(), segments.end(), is_folder_segment))
        return ObjectFolder(text);
    return fail(ExitCode::protocol, "folder \"" + printable(text.substr(0, longest)) + "\"",
                "not the name of a folder in a store");
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
