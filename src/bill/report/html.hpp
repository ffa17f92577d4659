// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace curtail::report {

/// Escapes `text` for the content of an HTML element or for a quoted attribute. The characters
/// & < > " ' become entities, and control characters become \xNN.
[[nodiscard]] std::string escape_html(std::string_view text);

/// A part of an HTML page. Text becomes a part only after it was escaped, so that foreign text
/// never becomes markup.
class Html {
  public:
    Html() = default;
    Html(std::string_view text) : markup_(escape_html(text)) {}
    Html(std::string const& text) : Html(std::string_view(text)) {}
    Html(char const* text) : Html(std::string_view(text)) {}
    /// Makes a part from markup, which must not contain foreign text.
    [[nodiscard]] static Html of_markup(std::string markup);
    Html& operator+=(Html const& other)
    {
        markup_ += other.markup_;
        return *this;
    }
    friend Html operator+(Html a, Html const& b) { return std::move(a += b); }
    [[nodiscard]] bool empty() const { return markup_.empty(); }
    [[nodiscard]] std::string const& markup() const { return markup_; }

  private:
    std::string markup_;
};

/// Names and values of attributes. An attribute without a value is left out.
using Attributes = std::vector<std::pair<std::string_view, std::string>>;
/// Makes an element, such as `element("a.on", {{"href", "#loss"}}, "Loss")`. Classes follow the
/// tag, each after a dot.
[[nodiscard]] Html element(std::string_view tag, Attributes const& attributes, Html const& content);
/// Makes an element without attributes.
[[nodiscard]] Html element(std::string_view tag, Html const& content);

}  // namespace curtail::report
