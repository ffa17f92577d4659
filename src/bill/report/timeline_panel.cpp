// SPDX-License-Identifier: Apache-2.0
// The timeline: its tables of windows and of decisions.
#include <algorithm>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;

// The window was open at the end of the record, although a delay had begun.
bool is_delayed(View window) { return !window["close_s"] && window["closing_s"][0]; }

Html window_table(PageData const& data)
{
    auto const windows = data["windows"].list();
    if (windows.empty()) return empty("No window has opened: no decision to open is recorded.");
    auto const status = data["run"]["status"].text();
    bool const has_ended = status == "finished" || status == "complete";
    auto const kwh = data.marked_unit("kWh", "energy");
    auto const grams = data.marked_unit("g", "co2");
    Table table{"Windows",
                {{"Window", text},
                 {.title = "Opened", .unit = "UTC"},
                 {.title = "Closing began", .unit = "UTC"},
                 {.title = "Closed", .unit = "UTC"},
                 {.title = "Open for", .digits = 2, .unit = "h"},
                 {.title = "To first step", .digits = 1, .unit = data.real_s()},
                 {.title = "Steps"},
                 {.title = "Energy", .unit = kwh, .is_modelled = true},
                 {.title = "above threshold", .unit = kwh, .is_modelled = true},
                 {.title = "CO₂", .unit = grams, .is_modelled = true},
                 {.title = "above threshold", .unit = grams, .is_modelled = true}}};
    for (auto const& w : windows) {
        auto const delays = w["closing_s"].list();
        auto const end_s = (w["close_s"] ? w["close_s"] : data["run"]["end_s"]).number_or(0);
        auto const mark = mark_of_part(w, data["totals"]["sites"][w["site"].text()]);
        table.rows.push_back({data.dotted(w["site"]),
                              data.time(w["open_s"]),
                              delays.empty() ? Html("–")
                                             : element("span", data.time(delays.back()[0]) +
                                                                   (is_delayed(w) ? " *" : "")),
                              w["close_s"] ? data.time(w["close_s"])
                                           : Html(has_ended ? "run ended first" : "still open"),
                              json::Value((end_s - w["open_s"].number_or(0)) / 3600),
                              w["startup_s"],
                              w["steps"],
                              w["kwh"],
                              w["kwh_outside"],
                              {w["gco2"], mark},
                              {w["gco2_outside"], mark}});
    }
    auto out = to_html(
        table, {.id = "windows", .is_tall = windows.size() > 12, .box_style = "margin-top:10px"});
    if (std::any_of(windows.begin(), windows.end(), &is_delayed))
        out += note(
            "* The window was still open when the record ended: its delay was running, or "
            "intensity had fallen below the threshold again.");
    return out;
}

Html decision_table(PageData const& data)
{
    auto const decisions = data["decisions"].list();
    if (decisions.empty()) return {};
    Table table{"Decisions",
                {{"Site", text},
                 {.title = "Decided", .unit = "UTC"},
                 {.title = "Elapsed", .unit = "s"},
                 {.title = "Intensity", .unit = "g/kWh"},
                 {"From", text},
                 {"To", text},
                 {"Reason", text}}};
    for (auto const& d : decisions)
        table.rows.push_back({data.dotted(d["site"]), data.time(d["t"]), d["t"],
                              d["intensity"] ? Cell(d["intensity"]) : Cell("no signal"), d["from"],
                              d["to"], d["reason"]});
    return element(
        "details",
        element("summary", "Decisions (" + number(static_cast<double>(decisions.size())) + ")") +
            to_html(table, {.id = "decisions", .is_tall = true, .box_style = "margin-top:10px"}));
}

}  // namespace

Html timeline_panel(PageData const& data)
{
    if (data.sites().empty()) return empty("No site is configured for this run.");
    if (!data["signals"] && data["windows"].list().empty())
        return empty("No window has opened, and the signal is unknown: " + data.why_no_carbon() +
                     ".");
    return charts_place() + window_table(data) + decision_table(data);
}

}  // namespace curtail::report
