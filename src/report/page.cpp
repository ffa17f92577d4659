// SPDX-License-Identifier: Apache-2.0
#include "report/page.hpp"

#include <stdexcept>

#include "core/base64.hpp"
#include "core/digest.hpp"
#include "core/text.hpp"
#include "report/gzip.hpp"

namespace curtail::report {

// Generated from src/report/page (CMakeLists.txt).
extern std::string_view const page_html;
extern std::string_view const page_style;
extern std::string_view const page_script;

namespace {

// The text of plotly.js without the server that it names for maps, which no chart here uses.
std::string without_map_server(std::string plotly)
{
    constexpr std::string_view server = "https://cdn.jsdelivr.net/npm/";
    for (auto at = plotly.find(server); at != std::string::npos; at = plotly.find(server, at))
        plotly.erase(at, server.size());
    return plotly;
}

// Replaces placeholders, in the order of the text. A placeholder inside a value stays as it is.
class Template {
  public:
    explicit Template(std::string_view text) : rest_(text) {}
    void fill(std::string_view placeholder, std::string_view value)
    {
        auto const at = rest_.find(placeholder);
        if (at == std::string_view::npos)
            throw std::logic_error("page.html lacks " + std::string(placeholder));
        done_ += rest_.substr(0, at);
        done_ += value;
        rest_.remove_prefix(at + placeholder.size());
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

std::string page(json::Value const& document, std::string plotly)
{
    plotly = without_map_server(std::move(plotly));
    Template out(page_html);
    out.fill("{{HASHES}}", source_hash(plotly) + " " + source_hash(page_script));
    out.fill("{{STYLE}}", page_style);
    out.fill("{{STATIC}}", static_tables(document));
    out.fill("{{DATA}}", json::to_script(document));
    out.fill("{{PLOTLY}}", to_base64(gzip(plotly)));
    out.fill("{{SCRIPT}}", page_script);
    return out.take();
}

}  // namespace curtail::report
