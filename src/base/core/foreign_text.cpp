// SPDX-License-Identifier: Apache-2.0
#include "base/core/foreign_text.hpp"

#include "base/core/text.hpp"

namespace curtail {

std::optional<ForeignText> wide_text(std::string_view text)
{
    using namespace std::string_view_literals;
    auto const sample = text.substr(0, 4096);
    std::size_t zeros[2]{};  // at even and odd places
    for (std::size_t i = 0; i < sample.size(); ++i) zeros[i % 2] += sample[i] == '\0' ? 1 : 0;
    // Of blanks, digits and Latin letters, every second byte is 0.
    auto const mostly = [&](std::size_t these, std::size_t others) {
        return these >= 2 && 50 * these >= sample.size() && these > 8 * others;
    };
    char const* name = nullptr;
    if (text.starts_with("\xFF\xFE\0\0"sv)) name = "UTF-32LE";
    else if (text.starts_with("\0\0\xFE\xFF"sv)) name = "UTF-32BE";
    else if (text.starts_with("\xFF\xFE") || mostly(zeros[1], zeros[0])) name = "UTF-16LE";
    else if (text.starts_with("\xFE\xFF") || mostly(zeros[0], zeros[1])) name = "UTF-16BE";
    if (name == nullptr) return std::nullopt;
    return ForeignText{std::string("it is ") + name + ", not UTF-8",
                       std::string("convert it with iconv -f ") + name + " -t UTF-8"};
}

std::optional<ForeignText> foreign_encoding(std::string_view text)
{
    if (auto wide = wide_text(text)) return wide;
    auto const at = find_invalid_utf8(text);
    if (!at) return std::nullopt;
    return ForeignText{"not UTF-8 at byte " + std::to_string(*at),
                       "find out its encoding, then convert it: iconv -f ENCODING -t UTF-8, where "
                       "ENCODING is for example WINDOWS-1252"};
}

std::optional<ForeignText> foreign_line_ends(std::string_view text)
{
    if (text.find('\n') != std::string_view::npos || text.find('\r') == std::string_view::npos)
        return std::nullopt;
    return ForeignText{"its lines end with carriage returns only",
                       "convert its line ends: tr '\\r' '\\n' < FILE > NEW_FILE"};
}

}  // namespace curtail
