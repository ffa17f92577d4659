// SPDX-License-Identifier: Apache-2.0
#include "bill/report/page.hpp"

#include <stdexcept>

#include "base/core/base64.hpp"
#include "base/core/digest.hpp"
#include "bill/report/gzip.hpp"
#include "bill/report/page_parts.hpp"

namespace curtail::report {

// Generated from src/bill/report/page (CMakeLists.txt).
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

Html section_of(Panel const& panel)
{
    auto const heading = panel.id + "-h";
    Html const number =
        panel.number.empty() ? Html() : element("span", {{"class", "n"}}, panel.number);
    return element("section", {{"class", "panel"}, {"id", panel.id}, {"aria-labelledby", heading}},
                   element("header", element("h2", {{"id", heading}}, number + panel.title) +
                                         element("p", {{"class", "q"}}, panel.question) +
                                         element("div", {{"class", "ctl"}}, "")) +
                       element("div", panel.body));
}

// The text of the time at which the document was made.
std::string written_text(View report)
{
    auto const time = report["generated_at"].text();
    return "written " + (time.empty() ? "at an unknown time"
                                      : time.substr(0, 10) + " " + time.substr(11, 8) + " UTC");
}

Html footer_of(PageData const& data)
{
    auto const program = data["report"]["program"].text();
    return element("footer", element("span", program.empty() ? "curtail-report" : program) +
                                 element("span", written_text(data["report"])) +
                                 element("span", "data: " + data["schema"].text() +
                                                     ", in the page source, element curtail-data"));
}

// What the page shows without a script.
struct Content {
    Html links;
    Html main;
};

Content content_of(PageData const& data)
{
    Content out{element("a", {{"href", "#headline"}}, "Summary"), headline_part(data)};
    for (auto const& panel :
         {timeline_panel(data), loss_panel(data), time_panel(data), energy_panel(data),
          comparison_panel(data), audit_panel(data), rounds_panel(data), events_panel(data),
          facts_panel(data), notes_panel(data)}) {
        if (panel.body.empty()) continue;
        out.links += element("a", {{"href", "#" + panel.id}}, panel.link);
        out.main += section_of(panel);
    }
    out.main += footer_of(data);
    return out;
}

}  // namespace

std::string page(json::Value const& document, std::string plotly)
{
    plotly = without_map_server(std::move(plotly));
    PageData const data(document);
    auto const content = content_of(data);
    Template out(page_html);
    out.fill("{{HASHES}}", source_hash(plotly) + " " + source_hash(page_script));
    out.fill("{{STYLE}}", page_style);
    out.fill("{{BRAND}}", escape_html(data["run"]["name"].text()));
    out.fill("{{LINKS}}", content.links.markup());
    out.fill("{{MAIN}}", content.main.markup());
    out.fill("{{DATA}}", json::to_script(document));
    out.fill("{{PLOTLY}}", to_base64(gzip(plotly)));
    out.fill("{{SCRIPT}}", page_script);
    return out.take();
}

}  // namespace curtail::report
