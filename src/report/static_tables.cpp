// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "account/audit.hpp"
#include "account/figures.hpp"
#include "energy/bill.hpp"
#include "report/number.hpp"
#include "report/page.hpp"

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

std::string figure(std::optional<double> value, int digits, double factor = 1)
{
    return report::number(value, digits, factor, "–");
}

// In kg, or in grams with `factor` 1. `≥` if some of the intensity is unknown: the figure is then
// a lower bound.
std::string carbon(energy::Tally const& tally, int digits, double factor = 1e-3)
{
    auto const known = tally.known_carbon();
    return known ? (tally.whole() ? "" : "≥ ") + figure(known->value, digits, factor)
                 : figure({}, 0);
}

std::string utc(account::Account const& a, account::MaybeSeconds s)
{
    if (!s) return "–";
    auto const time = a.time_zero + std::chrono::round<Millis>(FractionalSeconds(*s));
    return format_time(std::chrono::floor<Seconds>(time));
}

std::string source_of(account::Account const& a, std::string const& key)
{
    for (auto const& p : a.provenance)
        if (p.key == key)
            return std::string(energy::name(p.provenance.origin)) + ": " + p.provenance.source;
    return "";
}

std::vector<Row> summary_rows(account::Account const& a)
{
    auto const total = total_of(a);
    std::vector<Row> rows{
        {"CO2", carbon(total, 3), "kg", source_of(a, "co2")},
        {"Energy", figure(total.energy.value / 1000, 2), "kWh", source_of(a, "energy")},
        {"Curtailed share of energy", figure(total.clean_share(), 1, 100), "%",
         source_of(a, "share")},
        {"Wall time", figure(a.last_step_s, 2, 1.0 / 3600), "h", source_of(a, "wall")},
        {"Tokens", std::to_string(a.tokens.value), "", source_of(a, "tokens")}};
    if (a.held_out) {
        rows.push_back(
            {"Held-out loss", figure(a.held_out->loss, 3), "nats per token", source_of(a, "ppl")});
        rows.push_back(
            {"Unigram entropy", figure(a.held_out->unigram_entropy, 3), "nats per token", ""});
    }
    return rows;
}

std::vector<Row> scenario_rows(account::Account const& a)
{
    auto const row = [](std::string label, account::MaybeSeconds wall_s, energy::Tally const& least,
                        energy::Tally const& most) {
        auto const kg = least.carbon == most.carbon ? carbon(least, 3)
                                                    : carbon(least, 2) + " to " + carbon(most, 2);
        return Row{std::move(label), figure(wall_s, 2, 1.0 / 3600),
                   figure(least.energy.value / 1000, 2), kg};
    };
    std::vector<Row> rows{row("This run", a.last_step_s, total_of(a), total_of(a))};
    for (auto const* scenarios : {&a.always_on, &a.other_scenarios})
        for (auto const& s : *scenarios)
            rows.push_back(row(s.label, s.wall_s, s.range.front(), s.range.back()));
    return rows;
}

std::vector<Row> audit_rows(account::Account const& a)
{
    std::vector<Row> rows;
    for (auto const& line : account::audit_of(a)) rows.push_back({line.title, line.text});
    return rows;
}

std::vector<Row> window_rows(account::Account const& a)
{
    std::vector<Row> rows;
    for (auto const& w : a.windows)
        rows.push_back({a.sites.at(w.site).label, utc(a, w.open_s), utc(a, w.close_s),
                        std::to_string(w.steps), figure(w.tally.energy.value / 1000, 2),
                        carbon(w.tally, 1, 1),
                        w.start ? figure(w.start->seconds, 1) : figure({}, 1)});
    return rows;
}

std::vector<Row> round_rows(account::Account const& a)
{
    std::vector<Row> rows;
    for (auto const& r : a.rounds) {
        std::string sites;
        for (auto const& p : r.parts)
            sites += (sites.empty() ? "" : ", ") + a.sites.at(p.site).label;
        rows.push_back({std::to_string(r.number), utc(a, r.start_s), sites,
                        std::to_string(r.tokens.value), figure(r.duration, 1), figure(r.merge, 2),
                        figure(r.loss, 3), figure(r.tally.energy.value / 1000, 2),
                        carbon(r.tally, 1, 1)});
    }
    return rows;
}

}  // namespace

std::string static_tables(account::Account const& a)
{
    std::string out = "<h1>" + escape_html(a.title) + "</h1>";
    if (a.tokens > Tokens{} || total_of(a).energy.value > 0)
        out += table("Summary", {"Quantity", "Value", "Unit", "From"}, summary_rows(a));
    if (a.tokens > Tokens{})
        out += table("Comparison with baselines",
                     {"Scenario", "Wall time, h", "Energy, kWh", "CO2, kg"}, scenario_rows(a));
    out += table("For auditors", {"Statement", ""}, audit_rows(a));
    out += table(
        "Windows (UTC)",
        {"Site", "Opened", "Closed", "Steps", "Energy, kWh", "CO2, g", "To first step, real s"},
        window_rows(a));
    out += table("Rounds (UTC)",
                 {"Round", "Began", "Sites", "Tokens", "Duration, real s", "Merge, real s", "Loss",
                  "Energy, kWh", "CO2, g"},
                 round_rows(a));
    return out;
}

}  // namespace curtail::report
