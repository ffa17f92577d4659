// SPDX-License-Identifier: Apache-2.0
#include "bill/report/page.hpp"

#include <stdexcept>

#include "base/compress/gzip.hpp"
#include "base/core/base64.hpp"
#include "base/core/digest.hpp"
#include "bill/report/page_parts.hpp"

namespace curtail::report {

// Generated from src/bill/report/page (CMakeLists.txt).
extern std::string_view const page_html;
extern std::string_view const page_style;
extern std::string_view const page_script;

namespace {

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
    return "'sha256-" + to_base64(sha256(script).bytes) + "'";
}

// A section of the page.
struct Panel {
    std::string id;
    std::string number;  // before the title; may be empty
    std::string title;
    std::string link;  // text of the link in the top bar
    std::string question;
    Html (*body)(PageData const&);
};

// The panels in the order of the page.
std::vector<Panel> panels()
{
    return {
        {"timeline", "1", "Timeline", "Timeline",
         "When was power clean, and what did each site do?", timeline_panel},
        {"loss", "2", "Loss", "Loss", "How did the loss fall, by tokens and by time?", loss_panel},
        {"time", "3", "Where the time went", "Time",
         "How much of each site's time went into training?", time_panel},
        {"energy", "4", "Where energy and carbon went", "Energy",
         "Which site, which state, which hours?", energy_panel},
        {"compare", "5", "Comparison with baselines", "Comparison",
         "What would the same work have cost elsewhere, or without waiting?", comparison_panel},
        {"audit", "", "For auditors", "Audit",
         "What do these figures count, and what are they not?", audit_panel},
        {"work", "", "What became of the work", "Work",
         "How much of each site's work is in the model, and what is lost?", work_panel},
        {"rounds", "6", "Rounds", "Rounds",
         "What did each site contribute to each commit, and at what cost?", rounds_panel},
        {"events", "7", "Events", "Events", "What happened, in order?", events_panel},
        {"facts", "8", "Run facts", "Facts", "What exactly ran, so that it can be repeated?",
         facts_panel},
        {"notes", "", "Notes on this data", "Notes",
         "What should you know before quoting these figures?", notes_panel}};
}

Html section_of(Panel const& panel, Html const& body)
{
    auto const heading = panel.id + "-h";
    auto const number = panel.number.empty() ? Html() : element("span.n", panel.number);
    return element("section.panel", {{"id", panel.id}, {"aria-labelledby", heading}},
                   element("header", element("h2", {{"id", heading}}, number + panel.title) +
                                         element("p.q", panel.question) + element("div.ctl", "")) +
                       element("div", body));
}

// The page's last line names the program, the time at which the document was made, and the schema.
Html footer_of(PageData const& data)
{
    auto const program = data["report"]["program"].text();
    auto const time = data["report"]["generated_at"].text();
    auto const written = time.empty() ? "at an unknown time"
                                      : time.substr(0, 10) + " " + time.substr(11, 8) + " UTC";
    return element("footer", element("span", program.empty() ? "curtail-report" : program) +
                                 element("span", "written " + written) +
                                 element("span", "data: " + data["schema"].text() +
                                                     ", in the page source, element curtail-data"));
}

}  // namespace

std::string page(json::Value const& document, std::string plotly)
{
    // plotly.js names a server for maps, which no chart here uses.
    constexpr std::string_view server = "https://cdn.jsdelivr.net/npm/";
    for (auto at = plotly.find(server); at != std::string::npos; at = plotly.find(server, at))
        plotly.erase(at, server.size());
    PageData const data(document);
    Html links = element("a", {{"href", "#headline"}}, "Summary");
    Html main = headline_part(data);
    for (auto const& panel : panels()) {
        auto const body = panel.body(data);
        if (body.empty()) continue;
        links += element("a", {{"href", "#" + panel.id}}, panel.link);
        main += section_of(panel, body);
    }
    main += footer_of(data);
    Template out(page_html);
    out.fill("{{HASHES}}", source_hash(plotly) + " " + source_hash(page_script));
    out.fill("{{STYLE}}", page_style);
    out.fill("{{BRAND}}", escape_html(data["run"]["name"].text()));
    out.fill("{{LINKS}}", links.markup());
    out.fill("{{MAIN}}", main.markup());
    out.fill("{{DATA}}", json::to_script(document));
    out.fill("{{PLOTLY}}", to_base64(gzip(plotly)));
    out.fill("{{SCRIPT}}", page_script);
    return out.take();
}

}  // namespace curtail::report
