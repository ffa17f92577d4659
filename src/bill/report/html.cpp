// SPDX-License-Identifier: Apache-2.0
#include "bill/report/html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/core/text.hpp"

namespace curtail::report {

std::string escape_html(std::string_view text)
{
    std::string out;
    for (char const c : printable(text)) {
        if (c == '&') out += "&amp;";
        else if (c == '<') out += "&lt;";
        else if (c == '>') out += "&gt;";
        else if (c == '"') out += "&quot;";
        else if (c == '\'') out += "&#39;";
        else out += c;
    }
    return out;
}

Html Html::of_markup(std::string markup)
{
    Html out;
    out.markup_ = std::move(markup);
    return out;
}

Html element(std::string_view tag, Attributes const& attributes, Html const& content)
{
    auto const words = split(tag, '.');
    std::string const name(words[0]);
    std::string out = "<" + name;
    if (words.size() > 1)
        out += fmt::format(" class=\"{}\"", fmt::join(words.begin() + 1, words.end(), " "));
    for (auto const& [key, value] : attributes)
        if (!value.empty()) out += fmt::format(" {}=\"{}\"", key, escape_html(value));
    return Html::of_markup(out + ">" + content.markup() + "</" + name + ">");
}

Html element(std::string_view tag, Html const& content) { return element(tag, {}, content); }

}  // namespace curtail::report
