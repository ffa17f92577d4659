// SPDX-License-Identifier: Apache-2.0
// The summary: a sentence, carbon next to always-on, tiles, and where the figures come from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr char const* nbsp = "\u00a0";

// The least and the greatest of some values.
struct Extent {
    double least;
    double greatest;
};
std::optional<Extent> extent_of(std::vector<double> const& values)
{
    if (values.empty()) return std::nullopt;
    auto const [least, greatest] = std::minmax_element(values.begin(), values.end());
    return Extent{*least, *greatest};
}

// The always-on scenarios in regions of the run's sites. A range over other regions would compare
// the run with places where it could not run.
std::vector<View> always_on_at_sites(PageData const& data)
{
    std::vector<View> out;
    for (auto const& a : data["headline"]["always_on"].list()) {
        auto const& sites = data.sites();
        bool const has_site = std::any_of(sites.begin(), sites.end(), [&](View const& s) {
            return PageData::has_region(s, a["region"]);
        });
        if (has_site && !a["elsewhere"].is_true()) out.push_back(a);
    }
    return out;
}

std::optional<Extent> known_extent(PageData const& data, char const* key)
{
    std::vector<double> known;
    for (auto const& a : always_on_at_sites(data))
        if (auto const value = a[key].number()) known.push_back(*value);
    return extent_of(known);
}

Html sentence(PageData const& data, View headline)
{
    auto const end_s = data["run"]["end_s"].number_or(0);
    Html out = data["run"]["model"].text() + ", " +
               counted(static_cast<double>(data.sites().size()), "site") + ", " +
               std::to_string(headline["rounds"].integer()) + " rounds, " + data.day_month(0) +
               " " + data.year(0) + " " + data.hour_minute(0) + " to " + data.day_month(end_s) +
               " " + data.hour_minute(end_s) + " UTC. Trained on ";
    out += element("b", data.tokens(headline["tokens"].number()) + nbsp + "tokens");
    if (headline["co2_kg"])
        out += Html(" for ") + words_of(headline["co2_bound"]) +
               element("b", significant(headline["co2_kg"]) + nbsp + "kg of" + nbsp + "CO₂") +
               " of marginal emissions";
    else if (!headline["energy_kwh"])
        out += Html(" in ") + element("b", number(headline["allocated_h"], 1) + nbsp + "h") +
               " with devices of unknown power";
    else
        out += Html(" with ") + element("b", significant(headline["energy_kwh"]) + nbsp + "kWh") +
               "; CO₂ is unknown: " + data.why_no_carbon();
    if (auto const ratios = known_extent(data, "ratio"))
        out += ", " + range(ratios->least * 100, ratios->greatest * 100) + nbsp +
               "% of one site always on in the run's regions";
    if (headline["energy_if_idle_kwh"])
        out += ". It is unknown what some nodes do between jobs: if they stay on, it is " +
               element("b", significant(headline["energy_if_idle_kwh"]) + nbsp + "kWh") +
               (headline["co2_if_idle_kg"]
                    ? Html(" and ") + element("b", significant(headline["co2_if_idle_kg"]) + nbsp +
                                                       "kg of" + nbsp + "CO₂")
                    : Html());
    if (!headline["share"]) return out + ".";
    return out + ", with " + element("b", percent(headline["share"].number())) + " of " +
           (mark_of(headline["energy_bound"]).empty() ? "its" : "the billed") +
           " energy known to be drawn at a marginal intensity below " +
           keep_units(data.threshold("its site's threshold") + data.thresholds()) + ".";
}

// The box of a run that is not complete: how far it is, how fast, and what it took so far.
Html now_box(PageData const& data, View now)
{
    auto const target = token_scale(now["target_tokens"].number_or(0));
    auto const tokens = number(now["target_tokens"].number_or(0) * target.scale, 1) + nbsp +
                        target.name + (now["is_budget"].is_true() ? " budget" : " tokens");
    auto const measured = now["measured_s"];
    bool const is_hour = measured.number_or(3600) >= 3600;
    std::vector<std::pair<std::string, std::string>> const entries{
        // A run that is not complete is not done to 100 %.
        {"Done", percent(std::min(now["share"].number_or(0), .999)) + " of " + tokens},
        {"Epochs of the data", now["epochs"] ? number(now["epochs"], 2) + " of at most " +
                                                   std::to_string(now["most_epochs"].integer())
                                             : "–"},
        {is_hour ? "Last hour of training"
                 : "Last " + duration(measured.number_or(0)) + " of training",
         number(now["tokens_per_s"]) + " tokens/" + data.real_s()},
        {std::string("Training left") + (data.clock_factor() == 1 ? "" : ", real time"),
         now["training_left"] ? now["training_left"].text() : "–"},
        {"Energy so far", mark_of(now["energy_bound"]) + significant(now["kwh"]) + " kWh"},
        {"CO₂ so far",
         now["gco2"] ? mark_of(now["co2_bound"]) + significant(now["gco2"]) + " g" : "unknown"}};
    Html out;
    for (auto const& [name, value] : entries)
        out += element("div", element("dt", name) + element("dd", value));
    return element("dl.now", {{"id", "now"}, {"aria-label", "The run now"}}, out);
}

// A run can also emit more than always-on.
std::string compared_text(Extent const& ratios)
{
    auto const off = [](double ratio) { return number(std::abs(1 - ratio) * 100); };
    auto const both = [&](double from, double to) {
        return off(from) == off(to) ? off(from) : off(from) + "–" + off(to);
    };
    auto const [least, greatest] = ratios;
    std::string const where = "than always-on in the run's regions";
    if (greatest <= 1) return both(greatest, least) + " % less " + where;
    if (least >= 1) return both(least, greatest) + " % more " + where;
    return off(least) + " % less to " + off(greatest) + " % more " + where;
}

std::string carbon_text(PageData const& data, View headline)
{
    if (!headline["co2_kg"]) return "Unknown: " + data.why_no_carbon() + ".";
    auto why = data.missing("always_on");
    if (why.empty()) why = data.missing("ratio");
    auto const ratios = known_extent(data, "ratio");
    auto text = ratios
                    ? compared_text(*ratios)
                    : "No comparison with always-on: " + (why.empty() ? "none was computed" : why);
    text += "; " + significant(headline["mean_intensity"]) + " g/kWh on average";
    if (headline["kwh_unknown"].number_or(0) > 0) text += " where it is known";
    std::vector<double> intensities;
    for (auto const& a : always_on_at_sites(data)) {
        auto const known = a["kwh"].number_or(0) - a["unknown_kwh"].number_or(0);
        if (a["kg"] && known > 0) intensities.push_back(a["kg"].number_or(0) * 1000 / known);
    }
    if (auto const extent = extent_of(intensities))
        text += " against " + range(extent->least, extent->greatest);
    return text;
}

std::string kg_text(View kg, View bound)
{
    return kg ? mark_of(bound) + significant(kg) + " kg" : "–";
}

Html bar_row(Html const& name, std::string const& title, Html const& bars, Html const& value)
{
    return element("tr", element("td", name) +
                             element("td", element("div.hbx", {{"title", title}}, bars)) +
                             element("td", value));
}

// This run by site, and one always-on site in each region, on one scale.
Html carbon_bars(PageData const& data, View headline)
{
    auto const always_on = headline["always_on"].list();
    double greatest = headline["co2_kg"].number_or(0);
    for (auto const& a : always_on) greatest = std::max(greatest, a["kg"].number_or(0));
    auto const carbon_bar = [&](View kg, std::string const& color) {
        return bar(std::max(kg.number_or(0) / (greatest > 0 ? greatest : 1), .004), color);
    };
    std::string title;
    Html bars;
    for (auto const& s : data.sites()) {
        auto const kg = headline["co2_by_site"][s["id"].text()];
        title += (title.empty() ? "" : ", ") + s["label"].text() + " " + significant(kg) + " kg";
        if (kg.number_or(0) > 0) bars += carbon_bar(kg, data.color_of_site(s["id"]));
    }
    auto const mine = kg_text(headline["co2_kg"], headline["co2_bound"]);
    Html rows = bar_row(element("b", "This run"), title, bars, element("b", mine));
    for (auto const& a : always_on) {
        auto const ratio = a["ratio"].number_or(0);
        Html name = "Always on, " + a["region"].text();
        if (a["elsewhere"].is_true())
            name += Html(",") + element("small", " as " + a["as_site"].text());
        auto const factor = element("span.x", ratio > 0 ? significant(1 / ratio) + " ×" : "–");
        rows += bar_row(name + joint_rate_mark(a),
                        a["region"].text() + " " + significant(a["kg"]) + " kg",
                        carbon_bar(a["kg"], fainter(data.color_of_region(a["region"]), 38)),
                        kg_text(a["kg"], a["co2_bound"]) + factor);
    }
    return element(
        "table.bars.t0",
        element("caption.vh", "CO2 of this run and of one always-on site in each region, kg") +
            element("tbody", rows));
}

Html carbon_block(PageData const& data, View headline)
{
    auto const mark = headline["co2_kg"] ? mark_of(headline["co2_bound"]) : "";
    Html out = element("div.big", Html(mark + significant(headline["co2_kg"])) +
                                      element("small", "kg CO₂, marginal emissions") +
                                      data.source_mark("co2"));
    out += data.source_line("co2") + power_lines(data);
    out += element("p.under", carbon_text(data, headline));
    out += carbon_bars(data, headline);
    if (auto const joint = joint_rate_note(data); !joint.empty()) out += note(joint);
    return element("div", out);
}

// A figure with its source. Some have a strip of coloured shares and rows of cells below.
struct Tile {
    std::string title;
    std::string key;  // of the source
    std::string value;
    std::string unit;
    Html strip{};
    std::vector<std::vector<std::string>> rows{};
};

Html tile_of(PageData const& data, Tile const& tile)
{
    Html out = element("h3", Html(tile.title) + data.source_mark(tile.key));
    out += element("div.v", Html(tile.value) + element("small", tile.unit));
    out += data.source_line(tile.key);
    if (!tile.strip.empty()) out += element("div.mini", {{"aria-hidden", "true"}}, tile.strip);
    Html rows;
    for (auto const& row : tile.rows) {
        Html cells;
        for (auto const& cell : row) cells += element("td", cell);
        rows += element("tr", cells);
    }
    return element("div.tile", out + element("table", element("tbody", rows)));
}

std::string relative(View a, View b)
{
    if (!a) return "–";
    auto const change = a.number_or(0) / b.number_or(0) - 1;
    return signed_number(change * 100, std::abs(change) < .1 ? 1 : 0) + " %";
}

std::vector<std::string> const no_baseline{"no baseline was run", ""};

Tile energy_tile(PageData const& data, View headline)
{
    auto const kwh = headline["energy_kwh"];
    Tile tile{"Energy", "energy", mark_of(headline["energy_bound"]) + significant(kwh), "kWh"};
    for (auto const& b : headline["baselines"].list())
        tile.rows.push_back(
            {b["label"].text(), significant(b["kwh"]) + " kWh", relative(kwh, b["kwh"])});
    if (!data["energy"] || !kwh) return tile;
    double idle = 0;
    for (auto const& [site, states] : data["energy"]["kwh"].members())
        for (auto const& [state, drawn] : states.members())
            if (state != "training") idle += drawn.number_or(0);
    auto const whole = kwh.number_or(0);
    tile.rows.push_back(
        {"not training", significant(idle) + " kWh", whole > 0 ? percent(idle / whole) : ""});
    return tile;
}

Tile share_tile(PageData const& data, View headline)
{
    Tile tile{"Energy below " + data.threshold("its threshold"), "share",
              in_percent(headline["share"]), "%",
              bar(headline["share"].number_or(0), "var(--mid)")};
    if (auto const always = known_extent(data, "share"))
        tile.rows.push_back(
            {"always on", range(always->least * 100, always->greatest * 100) + " %"});
    if (auto const inside = headline["share_inside_windows"].number())
        tile.rows.push_back({"inside windows", percent(inside)});
    if (headline["kwh_unknown"].number_or(0) > 0)
        tile.rows.push_back({"signal unknown", significant(headline["kwh_unknown"]) + " kWh"});
    if (auto const kg = headline["co2_kg"].number_or(0); kg > 0)
        tile.rows.push_back(
            {"above threshold", percent(headline["co2_outside_kg"].number_or(0) / kg) + " of CO₂"});
    return tile;
}

Tile wall_tile(PageData const& data, View headline)
{
    auto const wall = headline["wall_s"];
    Tile tile{"Wall time", "wall", hours(wall), "h"};
    for (auto const& b : headline["baselines"].list())
        tile.rows.push_back(
            {b["label"].text(), hours(b["wall_s"]) + " h", relative(wall, b["wall_s"])});
    std::vector<View> always_on;
    for (auto const& c : data["comparison"].list())
        if (c["id"].text().starts_with("one")) always_on.push_back(c["wall_s"]);
    if (tile.rows.empty() && !always_on.empty()) {
        auto const [least, most] = std::minmax_element(
            always_on.begin(), always_on.end(),
            [](View const& a, View const& b) { return a.number_or(0) < b.number_or(0); });
        // No difference: several sites take less time than one for the same work.
        bool const same = hours(*least) == hours(*most);
        tile.rows.push_back(
            {"one site, always on", hours(*least) + (same ? "" : "–" + hours(*most)) + " h", ""});
    }
    if (tile.rows.empty()) tile.rows.push_back(no_baseline);
    if (data.clock_factor() != 1)
        tile.rows.push_back(
            {"in real time", wall ? duration(wall.number_or(0) / data.clock_factor()) : "–"});
    return tile;
}

// Held-out loss where it was evaluated, else perplexity of the training loss.
Tile learned_tile(View headline)
{
    auto const held_out = headline["held_out"];
    if (!held_out) {
        auto const tail = [](View x) { return "loss " + number(x["tail_loss"][0], 3); };
        Tile tile{"Training perplexity, lowest smoothed", "ppl", number(headline["best_ppl"], 2),
                  tail(headline)};
        for (auto const& b : headline["baselines"].list())
            tile.rows.push_back({b["label"].text(), number(b["best_ppl"], 2), tail(b)});
        if (tile.rows.empty()) tile.rows.push_back(no_baseline);
        return tile;
    }
    auto const nats = [](std::optional<double> x) { return number(x, 3) + " nats"; };
    auto const loss = held_out["loss"].number_or(0);
    auto const entropy = held_out["unigram_entropy"].number_or(0);
    auto const newer = held_out["newer_commit"];
    return {
        "Held-out loss",
        "ppl",
        number(loss, 3),
        "nats",
        {},
        {{"unigram entropy", nats(entropy)},
         {loss <= entropy ? "below it by" : "above it by", nats(std::abs(entropy - loss))},
         {"perplexity", number(std::exp(loss), 2)},
         {"training loss", nats(headline["tail_loss"][0].number())},
         {"at commit", number(held_out["commit"]) + (newer ? ", newest " + number(newer) : "")}}};
}

Tile tokens_tile(PageData const& data, View headline)
{
    auto const& unit = data.token_scale();
    auto const text = [&](double count) { return number(count * unit.scale, 2); };
    auto const all = headline["tokens"].number_or(0);
    Tile tile{"Tokens trained", "tokens", text(all), unit.name};
    if (auto const planned = headline["planned_tokens"].number())
        tile.rows.push_back({"planned", data.tokens(planned)});
    std::vector<double> counts;
    std::string by_site;
    for (auto const& s : data.sites()) {
        auto const count = headline["tokens_by_site"][s["id"].text()].number_or(0);
        by_site += (counts.empty() ? "" : " + ") + text(count);
        counts.push_back(count);
        tile.strip += bar(count / all, data.color_of_site(s["id"]));
    }
    auto const extent = extent_of(counts);
    if (counts.size() > 4)
        tile.rows.push_back(
            {"smallest, largest", text(extent->least) + ", " + text(extent->greatest)});
    else tile.rows.push_back({"by site", by_site});
    auto const sum = data["work"]["all"];
    auto const lost = sum["refused_tokens"].number_or(0) + sum["dropped_tokens"].number_or(0);
    if (lost > 0) tile.rows.push_back({"lost besides", data.tokens(lost)});
    return tile;
}

Tile goodput_tile(View headline)
{
    return {"Goodput, of allocated time",
            "goodput",
            in_percent(headline["goodput"]),
            "%",
            {},
            {{"in training", number(headline["training_h"], 2) + " of " +
                                 number(headline["allocated_h"], 2) + " h"},
             {"rounds (joint)", fmt::format("{} ({})", headline["rounds"].integer(),
                                            headline["joint_rounds"].integer())}}};
}

Html sources(PageData const& data)
{
    Html entries;
    std::string letters;
    for (auto const& p : data["provenance"].list()) {
        auto const key = p["key"].text();
        auto const letter = data.source_letter(key);
        letters += (letters.empty() ? "" : ", ") + letter;
        entries += element("li", {{"id", "prov-" + key}},
                           element("span", letter) + element("b", p["title"].text()) +
                               element("span.tag", kind_mark(p) + " " + p["kind"].text()) +
                               keep_units(p["text"].text()));
    }
    return element("details", {{"id", "provs"}},
                   element("summary", "Where these figures come from (" + letters + ")") +
                       element("ol.prov", entries) +
                       note("● measured or logged   ◐ derived from logged values   ○ modelled or "
                            "estimated; tables mark such columns with ○."));
}

}  // namespace

Html headline_part(PageData const& data)
{
    auto const run = data["run"];
    // Without tokens, there is nothing to compare the energy with.
    auto const headline = data["headline"]["tokens"].number_or(0) > 0 ? data["headline"] : View{};
    auto const or_else = [](std::string const& text, char const* otherwise) {
        return text.empty() ? otherwise : text;
    };
    auto const source = run["source"].text();
    Html lede = element("p.eyebrow", "Curtail run report" + (source.empty() ? "" : " · " + source));
    lede +=
        element("h1", Html(or_else(run["title"].text(), "Unnamed run")) +
                          element("span.pill", or_else(run["status"].text(), "status unknown")));
    Html summary =
        "No work is committed yet: either no site has trained, or its first round has not ended. "
        "Figures appear with the first commit that contains trained tokens.";
    if (headline) summary = sentence(data, headline);
    else if (data["totals"]["all"]["kwh"])
        summary += " So far, the sites have drawn " + significant(data["totals"]["all"]["kwh"]) +
                   nbsp + "kWh.";
    lede += element("p.sum", summary);
    for (auto const& warning : data["work"]["warnings"].list())
        lede += element("p.warn", warning.text() + ".");
    if (data["now"]) lede += now_box(data, data["now"]);
    Html out = element("div.lede", lede);
    if (headline) {
        Html tiles;
        for (auto const& tile :
             {energy_tile(data, headline), share_tile(data, headline), wall_tile(data, headline),
              learned_tile(headline), tokens_tile(data, headline), goodput_tile(headline)})
            tiles += tile_of(data, tile);
        out += element("div.head", carbon_block(data, headline) + element("div.tiles", tiles));
        out += sources(data);
        auto const notes = static_cast<double>(data["notes"].list().size());
        if (notes > 0)
            out +=
                note(element("a", {{"href", "#notes"}}, counted(notes, "note") + " on this data") +
                     (notes == 1 ? " qualifies these figures." : " qualify these figures."));
    }
    return element("section", {{"id", "headline"}}, out);
}

}  // namespace curtail::report
