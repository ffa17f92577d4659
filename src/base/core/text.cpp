// SPDX-License-Identifier: Apache-2.0
#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace curtail {
namespace {

bool is_in(unsigned char byte, unsigned char first, unsigned char last)
{
    return byte >= first && byte <= last;
}

// Which sequences may start with a byte: their length, and the range of the second byte. Length 0:
// no sequence starts with this byte (table 3-7 of the Unicode standard).
struct Utf8Lead {
    std::size_t length{0};
    unsigned char second_min{0x80};
    unsigned char second_max{0xBF};
};

Utf8Lead utf8_lead(unsigned char first)
{
    if (first < 0x80) return {1};
    if (is_in(first, 0xC2, 0xDF)) return {2};
    if (first == 0xE0) return {3, 0xA0, 0xBF};  // no overlong forms
    if (first == 0xED) return {3, 0x80, 0x9F};  // no surrogates
    if (is_in(first, 0xE1, 0xEF)) return {3};
    if (first == 0xF0) return {4, 0x90, 0xBF};  // no overlong forms
    if (first == 0xF4) return {4, 0x80, 0x8F};  // nothing above U+10FFFF
    if (is_in(first, 0xF1, 0xF3)) return {4};
    return {};
}

// Length of the valid UTF-8 sequence at the front of `s`, or 0. `s` must not be empty.
std::size_t utf8_length(std::string_view s)
{
    auto const lead = utf8_lead(static_cast<unsigned char>(s[0]));
    if (lead.length <= 1) return lead.length;
    if (s.size() < lead.length ||
        !is_in(static_cast<unsigned char>(s[1]), lead.second_min, lead.second_max))
        return 0;
    for (std::size_t i = 2; i < lead.length; ++i)
        if (!is_in(static_cast<unsigned char>(s[i]), 0x80, 0xBF)) return 0;
    return lead.length;
}

// Whether `s` begins with eight ASCII characters. Most text is ASCII, and this is fast.
bool begins_with_ascii_word(std::string_view s)
{
    std::uint64_t word{};
    if (s.size() < sizeof word) return false;
    std::memcpy(&word, s.data(), sizeof word);
    return (word & 0x8080808080808080U) == 0;
}

// Marks that reorder displayed text (U+061C, U+200E-200F, U+202A-202E, U+2066-206F), other line
// breaks (U+2028-2029) and the C1 control characters U+0080-009F. `sequence` is valid UTF-8.
bool is_misleading(std::string_view sequence)
{
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]); };
    if (sequence == "\xD8\x9C") return true;
    if (sequence.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
    if (sequence.size() != 3 || byte(0) != 0xE2) return false;
    if (byte(1) == 0x80) return is_in(byte(2), 0x8E, 0x8F) || is_in(byte(2), 0xA8, 0xAE);
    return byte(1) == 0x81 && is_in(byte(2), 0xA6, 0xAF);
}

// Whether `sequence`, from the front of a text, may appear in a log as it is.
bool is_harmless(std::string_view sequence, bool valid)
{
    auto const first = static_cast<unsigned char>(sequence[0]);
    return valid && first >= 0x20 && first != 0x7F && !is_misleading(sequence);
}

std::size_t edit_distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t const substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string printable(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        std::size_t const length = utf8_length(text);
        auto const sequence = text.substr(0, std::max<std::size_t>(1, length));
        if (is_harmless(sequence, length > 0)) out += sequence;
        else
            for (char c : sequence) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        text.remove_prefix(sequence.size());
    }
    return out;
}

std::string printable_lines(std::string_view text)
{
    std::string out;
    for (auto const line : split(text, '\n')) out += printable(line) + "\n";
    out.pop_back();
    return out;
}

std::string printable_json(std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        auto const length = std::max<std::size_t>(1, utf8_length(text));
        auto const sequence = text.substr(0, length);
        bool const is_plain = sequence == "\n" || is_harmless(sequence, true);
        // The value of a character of one to three bytes. Longer ones are harmless.
        unsigned value = length > 1 ? 0 : static_cast<unsigned char>(sequence[0]);
        if (length > 1) value = static_cast<unsigned char>(sequence[0]) & (0xFFU >> (length + 1));
        for (char const c : sequence.substr(1))
            value = (value << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
        if (is_plain) out += sequence;
        else out += fmt::format("\\u{:04x}", value);
        text.remove_prefix(length);
    }
    return out;
}

std::string valid_utf8(std::string_view text)
{
    std::string out;
    while (auto const at = find_invalid_utf8(text)) {
        out += text.substr(0, *at);
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[*at]));
        text.remove_prefix(*at + 1);
    }
    return out.append(text);
}

std::string shell_quoted(std::string_view text)
{
    std::string word = "'";
    for (char const c : printable(text))
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::optional<std::string> nearest_name(std::string_view wrong,
                                        std::span<std::string const> candidates)
{
    // A prefix beats a similar spelling: "temp" means "temperature", not "help".
    if (wrong.size() >= 3)
        for (auto const& candidate : candidates)
            if (candidate.starts_with(wrong)) return candidate;
    std::optional<std::string> best;
    std::size_t best_distance = std::max<std::size_t>(2, wrong.size() / 3) + 1;
    for (auto const& candidate : candidates) {
        std::size_t const distance = edit_distance(wrong, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string suggest_name(std::string_view wrong, std::span<std::string const> candidates)
{
    if (auto const nearest = nearest_name(wrong, candidates))
        return "did you mean \"" + *nearest + "\"?";
    std::string list;
    for (auto const& candidate : candidates) list += (list.empty() ? "" : ", ") + candidate;
    return list.empty() ? "no names are allowed here" : "known: " + list;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
        if (begins_with_ascii_word(text.substr(i))) {
            i += sizeof(std::uint64_t);
            continue;
        }
        std::size_t const length = utf8_length(text.substr(i));
        if (length == 0) return i;
        i += length;
    }
    return std::nullopt;
}

std::string hex(std::span<unsigned char const> bytes)
{
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (unsigned char b : bytes) {
        out += digits[b >> 4];
        out += digits[b & 15];
    }
    return out;
}

std::string_view without_byte_order_mark(std::string_view text)
{
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    for (;;) {
        auto const at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::string_view trim(std::string_view text)
{
    static constexpr std::string_view space = " \t\r\n";
    auto const first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string lower_case(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::optional<std::int64_t> leading_integer(std::string_view text)
{
    std::int64_t number = 0;
    auto const [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failed == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace curtail
