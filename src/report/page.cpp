// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <stdexcept>

#include "core/base64.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"

namespace curtail::report {

// Generated from src/report/page (embed_page.cmake).
extern std::string_view const page_html;
extern std::string_view const page_style;
extern std::string_view const page_script;

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view with)
{
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

/// Puts `value` where `mark` stands; each mark stands once, and a mark inside a value is only text.
class Template {
  public:
    explicit Template(std::string_view text) : rest_(text) {}
    void fill(std::string_view mark, std::string_view value)
    {
        auto const at = rest_.find(mark);
        if (at == std::string_view::npos)
            throw std::logic_error("the page has no mark " + std::string(mark));
        done_ += rest_.substr(0, at);
        done_ += value;
        rest_.remove_prefix(at + mark.size());
    }
    [[nodiscard]] std::string take() { return std::move(done_) + std::string(rest_); }

  private:
    std::string done_;
    std::string_view rest_;
};

std::string source_hash(std::string_view script)
{
    auto const digest = sha256(script);
    return "'sha256-" + to_base64(digest.bytes) + "'";
}

}  // namespace

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

std::string page(json::Object const& document, account::Account const& account, std::string plotly)
{
    // plotly.js names a server for maps, which no chart here has; and nothing inside may end its
    // own script element.
    plotly = replaced(replaced(std::move(plotly), "</script", "<\\/script"),
                      "https://cdn.jsdelivr.net/npm/", "");
    Template out(page_html);
    out.fill("{{HASHES}}", source_hash(plotly) + " " + source_hash(page_script));
    out.fill("{{STYLE}}", page_style);
    out.fill("{{STATIC}}", static_tables(account));
    out.fill("{{DATA}}", json::to_script(document));
    out.fill("{{PLOTLY}}", plotly);
    out.fill("{{SCRIPT}}", page_script);
    return out.take();
}

}  // namespace curtail::report
