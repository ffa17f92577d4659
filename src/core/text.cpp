// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace curtail {
namespace {

/// Length of the valid UTF-8 sequence at the front of `s`, 0 if there is none (table 3-7 of the
/// Unicode standard).
std::size_t utf8_length(std::string_view s)
{
    auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    auto const tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
        return i < s.size() && byte(i) >= low && byte(i) <= high;
    };
    unsigned const b = byte(0);
    if (b < 0x80) return 1;
    if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
    if (b >= 0xE0 && b <= 0xEF) {
        unsigned const low = b == 0xE0 ? 0xA0 : 0x80;
        unsigned const high = b == 0xED ? 0x9F : 0xBF;
        return tail(1, low, high) && tail(2) ? 3 : 0;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        unsigned const low = b == 0xF0 ? 0x90 : 0x80;
        unsigned const high = b == 0xF4 ? 0x8F : 0xBF;
        return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
    }
    return 0;
}

/// Marks that reorder what a person sees: U+200E-200F, U+202A-202E, U+2066-2069; and the C1
/// controls U+0080-009F.
bool is_misleading(std::string_view sequence)
{
    if (sequence.size() == 2)
        return sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
    if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
    auto const b1 = static_cast<unsigned char>(sequence[1]);
    auto const b2 = static_cast<unsigned char>(sequence[2]);
    return (b1 == 0x80 && (b2 == 0x8E || b2 == 0x8F || (b2 >= 0xAA && b2 <= 0xAE))) ||
           (b1 == 0x81 && b2 >= 0xA6 && b2 <= 0xA9);
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
        std::size_t const length = std::max<std::size_t>(1, utf8_length(text));
        auto const sequence = text.substr(0, length);
        auto const first = static_cast<unsigned char>(sequence[0]);
        bool const broken = first >= 0x80 && length == 1;
        if (first < 0x20 || first == 0x7F || broken || is_misleading(sequence)) {
            for (char c : sequence) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            out += sequence;
        }
        text.remove_prefix(length);
    }
    return out;
}

std::optional<std::string> nearest_name(std::string_view wrong,
                                        std::span<std::string const> candidates)
{
    // What was cut short is nearer than what is spelled alike: "temp" means "temperature", not
    // "help".
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
    return list.empty() ? "no name is allowed here" : "known: " + list;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
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

}  // namespace curtail
