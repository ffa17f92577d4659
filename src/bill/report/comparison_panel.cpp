// SPDX-License-Identifier: Apache-2.0
// This run next to its baselines and counterfactuals.
#include <algorithm>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;

bool is_run(View scenario) { return scenario["id"].text() == "run"; }

// A scenario whose regions are unknown has ranges.
template <class Text>
std::string value_or_range(View range, View value, Text const& shown)
{
    return range ? shown(range[0]) + "–" + shown(range[1]) : shown(value);
}

// Carbon by site where it is known, else one bar, paler above the lower end of a range.
Html scenario_bar(PageData const& data, View scenario, double greatest)
{
    Html parts;
    auto const add = [&](double kg, std::string const& color) {
        parts += bar(kg / greatest, color);
    };
    auto const range = scenario["kg_range"];
    if (scenario["split"]) {
        for (auto const& s : data.sites())
            if (auto const kg = scenario["split"][s["id"].text()].number_or(0); kg > 0)
                add(kg, data.color_of_site(s["id"]));
    } else if (range) {
        add(range[0].number_or(0), fainter("var(--faint)", 60));
        add(range[1].number_or(0) - range[0].number_or(0), fainter("var(--faint)", 28));
    } else {
        add(scenario["kg"].number_or(0), fainter(data.color_of_region(scenario["region"]), 38));
    }
    return element("span.hbx", {{"style", "width:110px"}}, parts);
}

std::string grams_per_million_tokens(View kg, double tokens)
{
    return kg && tokens > 0 ? significant(kg.number_or(0) * 1e9 / tokens) : "–";
}

// If the run was evaluated, its held-out perplexity is
// shown instead of its training perplexity. The latter is the minimum of a noisy average, so it
// makes the model look better than it is.
Row scenario_row(PageData const& data, View c, double greatest, bool is_evaluated)
{
    auto const mark = c["kg"] ? mark_of(c["tallies"][0]["co2_bound"]) : "";
    auto const of_carbon = [&](auto const& figure) {
        return value_or_range(c["kg_range"], c["kg"], figure);
    };
    auto const known_kwh = c["kwh"].number_or(0) - c["unknown_kwh"].number_or(0);
    auto const mean_intensity = [&](View kg) {
        bool const is_known = kg && known_kwh > 0;
        return is_known ? significant(kg.number_or(0) * 1000 / known_kwh) : "–";
    };
    auto const tokens = c["tokens"].number_or(0);
    auto const share = [](View value) { return in_percent(value); };
    auto const ratio = value_or_range(c["ratio_range"], c["ratio"], share);
    auto const tail = c["tail"];
    return {c["label"].text() + joint_rate_mark(c),
            c["sites"],
            hours(c["wall_s"]),
            c["s_step"],
            c["kwh"],
            value_or_range(c["share_range"], c["share"], share),
            of_carbon(mean_intensity),
            mark + of_carbon([](View kg) { return significant(kg); }),
            scenario_bar(data, c, greatest),
            is_run(c) && c["ratio"] ? "100" : ratio,
            mark + of_carbon([&](View kg) { return grams_per_million_tokens(kg, tokens); }),
            json::Value(tokens * data.token_scale().scale),
            c[is_evaluated ? "held_out_ppl" : "ppl"],
            tail ? number(tail[0], 3) + " ± " + number(tail[1], 3) : "–"};
}

Html comparison_table(PageData const& data)
{
    auto const scenarios = data["comparison"].list();
    double greatest = 0;
    bool is_evaluated = false;
    for (auto const& c : scenarios) {
        auto const kg = c["kg_range"] ? c["kg_range"][1] : c["kg"];
        greatest = std::max(greatest, kg.number_or(0));
        is_evaluated = is_evaluated || c["held_out_ppl"];
    }
    if (greatest <= 0) greatest = 1;
    auto const loss = data["loss"];
    Table table{
        "This run and counterfactuals",
        {{"Scenario", text},
         {"Sites"},
         {.title = "Wall time", .unit = "h"},
         {.title = "Step", .digits = 3, .unit = data.real_s()},
         {.title = "Energy", .unit = data.marked_unit("kWh", "energy"), .is_modelled = true},
         {.title = "Below", .unit = "%"},
         {.title = "Intensity", .unit = "mean g/kWh"},
         {.title = "CO₂", .unit = data.marked_unit("kg", "co2")},
         {.title = "", .kind = text, .unit = "0–" + significant(greatest) + " kg"},
         {.title = "This run", .unit = "% of scenario"},
         {.title = "CO₂", .unit = "g per M tokens"},
         {.title = "Tokens", .digits = 2, .unit = data.token_scale().name},
         {.title = is_evaluated ? "Held-out perplexity" : "Training perplexity",
          .digits = 2,
          .unit = is_evaluated ? "of unseen text" : "lowest smoothed"},
         {.title = "Loss", .unit = loss ? "last " + number(loss["tail_steps"]) + " steps" : ""}}};
    for (auto const& c : scenarios)
        table.rows.push_back(scenario_row(data, c, greatest, is_evaluated));
    auto const of_row = [&](std::size_t i) -> Attributes {
        return {{"class", is_run(scenarios[i]) ? "me" : ""}};
    };
    return to_html(table,
                   {.style_class = "tight", .box_style = "margin-top:10px", .of_row = of_row});
}

Html comparison_notes(PageData const& data)
{
    std::string out;
    auto const add = [&](std::string const& sentence) {
        if (!sentence.empty()) out += (out.empty() ? "" : " ") + sentence;
    };
    auto const why = [&](std::string const& title, char const* key) {
        if (auto const reason = data.missing(key); !reason.empty()) add(title + reason + ".");
    };
    why("CO₂ is unknown: ", "carbon");
    why("No always-on scenario: ", "always_on");
    why("No percentage of always-on: ", "ratio");
    add(data.missing("comparison"));
    add(joint_rate_note(data));
    if (data["loss"]) add("One step is " + number(data["loss"]["tokens_per_step"]) + " tokens.");
    return note(keep_units(out));
}

}  // namespace

Html comparison_panel(PageData const& data)
{
    if (data["comparison"].list().empty())
        return empty("Nothing to compare yet: no work is committed.");
    return comparison_table(data) + comparison_notes(data);
}

}  // namespace curtail::report
