// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/page.hpp"
#include "report/view.hpp"

namespace curtail::report {
namespace {

using Row = std::vector<std::string>;

std::string cells(Row const& row, char const* tag)
{
    std::string out = "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
        out += fmt::format("<{}{}{}>{}</{}>", tag, tag[1] == 'h' ? " scope=\"col\"" : "",
                           i == 0 ? " class=\"l\"" : "", escape_html(row[i]), tag);
    return out + "</tr>";
}

std::string table(std::string const& title, Row const& head, std::vector<Row> const& rows)
{
    if (rows.empty()) return "";
    std::string out = "<h2>" + escape_html(title) +
                      "</h2><div class=\"scroll\"><table class=\"t\"><thead>" + cells(head, "th") +
                      "</thead><tbody>";
    for (auto const& row : rows) out += cells(row, "td");
    return out + "</tbody></table></div>";
}

std::string figure(View value, int digits, double factor = 1)
{
    return value ? fmt::format("{:.{}f}", value.number_or(0) * factor, digits) : "–";
}

// In kg, or in grams with `factor` 1. `≥` if some of the intensity is unknown: the figure is then
// a lower bound.
std::string carbon(View grams, View is_whole, int digits, double factor = 1e-3)
{
    return (grams && !is_whole.is_true() ? "≥ " : "") + figure(grams, digits, factor);
}

std::string utc(View doc, View s)
{
    if (!s) return "–";
    auto const zero = parse_time(doc["run"]["time_zero"].text()).value_or(Time{});
    auto const time = zero + std::chrono::round<Millis>(FractionalSeconds(s.number_or(0)));
    return format_time(std::chrono::floor<Seconds>(time));
}

std::string source_of(View doc, std::string const& key)
{
    for (auto const& p : doc["provenance"].list())
        if (p["key"].text() == key) return p["kind"].text() + ": " + p["source"].text();
    return "";
}

std::string label_of(View doc, View site)
{
    for (auto const& s : doc["sites"].list())
        if (s["id"].text() == site.text()) return s["label"].text();
    return site.text();
}

std::vector<Row> summary_rows(View doc)
{
    auto const total = doc["totals"]["all"];
    std::vector<Row> rows{
        {"CO2", carbon(total["g"], total["co2_is_whole"], 3), "kg", source_of(doc, "co2")},
        {"Energy", figure(total["kwh"], 2), "kWh", source_of(doc, "energy")},
        {"Curtailed share of energy", figure(total["share"], 1, 100), "%", source_of(doc, "share")},
        {"Wall time", figure(doc["run"]["last_step_s"], 2, 1.0 / 3600), "h",
         source_of(doc, "wall")},
        {"Tokens", std::to_string(doc["headline"]["tokens"].integer()), "",
         source_of(doc, "tokens")}};
    if (auto const held_out = doc["headline"]["held_out"]) {
        rows.push_back({"Held-out loss", figure(held_out["loss"], 3), "nats per token",
                        source_of(doc, "ppl")});
        rows.push_back(
            {"Unigram entropy", figure(held_out["unigram_entropy"], 3), "nats per token", ""});
    }
    return rows;
}

std::vector<Row> scenario_rows(View doc)
{
    std::vector<Row> rows;
    for (auto const& s : doc["comparison"].list()) {
        auto const tallies = s["tallies"].list();
        auto const kg = [&](View drawn, int digits) {
            return carbon(drawn["gco2"], drawn["co2_is_whole"], digits);
        };
        rows.push_back({s["label"].text(), figure(s["wall_s"], 2, 1.0 / 3600), figure(s["kwh"], 2),
                        tallies.size() == 1
                            ? kg(tallies[0], 3)
                            : kg(tallies.front(), 2) + " to " + kg(tallies.back(), 2)});
    }
    return rows;
}

std::vector<Row> audit_rows(View doc)
{
    std::vector<Row> rows;
    for (auto const& line : doc["audit"]["lines"].list())
        rows.push_back({line["title"].text(), line["text"].text()});
    return rows;
}

std::vector<Row> window_rows(View doc)
{
    std::vector<Row> rows;
    for (auto const& w : doc["windows"].list())
        rows.push_back({label_of(doc, w["site"]), utc(doc, w["open_s"]), utc(doc, w["close_s"]),
                        std::to_string(w["steps"].integer()), figure(w["kwh"], 2),
                        carbon(w["gco2"], w["co2_is_whole"], 1, 1), figure(w["startup_s"], 1)});
    return rows;
}

std::vector<Row> round_rows(View doc)
{
    std::vector<Row> rows;
    for (auto const& r : doc["rounds"].list()) {
        std::string sites;
        for (auto const& p : r["sites"].list())
            sites += (sites.empty() ? "" : ", ") + label_of(doc, p["site"]);
        rows.push_back({std::to_string(r["number"].integer()), utc(doc, r["start_s"]), sites,
                        std::to_string(r["tokens"].integer()), figure(r["duration_s"], 1),
                        figure(r["merge_s"], 2), figure(r["loss"], 3), figure(r["kwh"], 2),
                        carbon(r["gco2"], r["co2_is_whole"], 1, 1)});
    }
    return rows;
}

}  // namespace

std::string static_tables(json::Value const& document)
{
    View const doc(document);
    std::string out = "<h1>" + escape_html(doc["run"]["title"].text()) + "</h1>";
    if (doc["headline"] || doc["totals"]["all"]["kwh"].number_or(0) > 0)
        out += table("Summary", {"Quantity", "Value", "Unit", "From"}, summary_rows(doc));
    if (doc["comparison"])
        out += table("Comparison with baselines",
                     {"Scenario", "Wall time, h", "Energy, kWh", "CO2, kg"}, scenario_rows(doc));
    out += table("For auditors", {"Statement", ""}, audit_rows(doc));
    out += table(
        "Windows (UTC)",
        {"Site", "Opened", "Closed", "Steps", "Energy, kWh", "CO2, g", "To first step, real s"},
        window_rows(doc));
    out += table("Rounds (UTC)",
                 {"Round", "Began", "Sites", "Tokens", "Duration, real s", "Merge, real s", "Loss",
                  "Energy, kWh", "CO2, g"},
                 round_rows(doc));
    return out;
}

}  // namespace curtail::report
