// SPDX-License-Identifier: Apache-2.0
// The panels without charts: statements for auditors, rounds, events, facts, notes.
#include <fmt/format.h>

#include <algorithm>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;
constexpr std::size_t most_events = 500;  // the script shows more

// Training of the site that trained longest, as a share of the round.
std::optional<double> training_share(View round)
{
    std::optional<double> longest;
    for (auto const& part : round["sites"].list())
        if (auto const trained = part["train_s"].number())
            longest = std::max(longest.value_or(0), *trained);
    auto const duration = round["duration_s"].number_or(0);
    return longest && duration > 0 ? std::optional(*longest / duration) : std::nullopt;
}

Html weights(PageData const& data, View round)
{
    std::string title, names, percentages;
    Html bars;
    for (auto const& part : round["sites"].list()) {
        auto const label = data.label(part["site"]);
        auto const share = in_percent(part["weight"]);
        title += fmt::format("{}{} {} %, {} steps", title.empty() ? "" : "; ", label, share,
                             number(part["steps"]));
        names += (names.empty() ? "" : ", ") + label;
        percentages += (percentages.empty() ? "" : " : ") + share;
        bars += bar(part["weight"].number_or(0), data.color_of_site(part["site"]));
    }
    return element("span", {{"title", title}},
                   element("span.wbar", bars) + element("span.vh", names) + " " +
                       element("span.weights", percentages));
}

// The letters of the rounds with a note; empty for the others.
std::vector<std::string> note_letters(std::vector<View> const& rounds)
{
    std::vector<std::string> out;
    out.reserve(rounds.size());
    int count = 0;
    for (auto const& r : rounds)
        out.push_back(r["note"] ? std::string(1, static_cast<char>('a' + count++ % 26)) : "");
    return out;
}

Html letter_mark(std::string const& letter) { return element("sup.fn", letter); }

// A column that is left out if no round has a value.
struct OptionalColumn {
    Column column;
    double factor;
};

bool counts_in_millions(PageData const& data) { return data.token_scale().name == "G"; }

// The row of a round. `known`: the optional columns that are not left out.
Row round_row(PageData const& data, View round, std::string const& letter,
              std::vector<OptionalColumn> const& known)
{
    double const tokens = counts_in_millions(data) ? 1e-6 : 1e-3;
    Row row{Html(number(round["number"])) + letter_mark(letter),
            data.time(round["start_s"]),
            round["mode"].text() == "joint" ? "joint" : "lone",
            weights(data, round),
            json::Value(round["tokens"].number_or(0) * tokens),
            round["duration_s"],
            in_percent(training_share(round)),
            round["merge_s"]};
    for (auto const& [column, factor] : known) {
        auto const value = round[column.key].number();
        row.push_back(value ? json::Value(*value * factor) : json::Value());
    }
    auto const mark = mark_of_part(round, data["totals"]["all"]);
    row.insert(row.end(), {round["loss"], round["kwh"], {round["gco2"], mark}});
    return row;
}

Html rounds_table(PageData const& data, std::vector<View> const& rounds)
{
    auto const unit = counts_in_millions(data) ? "M" : "k";
    Table table{"Rounds, sortable",
                {{.title = "#", .key = "number"},
                 {.title = "Started", .unit = "UTC", .key = "start_s"},
                 {.title = "Mode", .kind = text, .key = "mode"},
                 {.title = "Sites and weights", .kind = text, .unit = "by tokens", .key = "weight"},
                 {.title = "Tokens", .digits = 1, .unit = unit, .key = "tokens"},
                 {.title = "Duration", .digits = 1, .unit = data.real_s(), .key = "duration_s"},
                 {.title = "Training", .unit = "% of duration", .key = "train"},
                 {.title = "Merge", .digits = 2, .unit = data.real_s(), .key = "merge_s"}}};
    std::vector<OptionalColumn> known{
        {{.title = "By MPI", .digits = 2, .unit = "MB", .key = "mpi_bytes"}, 1e-6},
        {{.title = "From store", .digits = 2, .unit = "MB", .key = "store_bytes"}, 1e-6},
        {{.title = "Δ norm", .digits = 3, .unit = "per √token", .key = "delta_norm"}, 1}};
    std::erase_if(known, [&](OptionalColumn const& optional) {
        return std::none_of(rounds.begin(), rounds.end(),
                            [&](View const& r) { return bool(r[optional.column.key]); });
    });
    for (auto const& optional : known) table.columns.push_back(optional.column);
    auto const kwh = data.marked_unit("kWh", "energy"), grams = data.marked_unit("g", "co2");
    table.columns.push_back({.title = "Loss", .digits = 3, .unit = "last 100 rows", .key = "loss"});
    table.columns.push_back({.title = "Energy", .unit = kwh, .key = "kwh", .is_modelled = true});
    table.columns.push_back({.title = "CO₂", .unit = grams, .key = "gco2", .is_modelled = true});
    auto const letters = note_letters(rounds);
    for (std::size_t i = 0; i < rounds.size(); ++i)
        table.rows.push_back(round_row(data, rounds[i], letters[i], known));
    auto const of_row = [&](std::size_t i) -> Attributes {
        return {{"title", rounds[i]["note"].text()}};
    };
    return to_html(table, {.is_tall = true, .of_row = of_row});
}

Html round_notes(std::vector<View> const& rounds)
{
    auto const letters = note_letters(rounds);
    Html out;
    for (std::size_t i = 0; i < rounds.size(); ++i)
        if (!letters[i].empty())
            out += Html(out.empty() ? "" : "; ") + letter_mark(letters[i]) +
                   fmt::format(" round {}: {}", rounds[i]["number"].integer(),
                               rounds[i]["note"].text());
    return out.empty() ? out : note(out + ".");
}

Html totals_note(PageData const& data, std::vector<View> const& rounds)
{
    auto const total = [&](char const* key) {
        double sum = 0;
        for (auto const& r : rounds) sum += r[key].number_or(0);
        return sum;
    };
    auto const known = [&](char const* key) {
        return std::count_if(rounds.begin(), rounds.end(),
                             [&](View const& r) { return bool(r[key]); });
    };
    std::vector<std::string> totals{data.tokens(total("tokens"), 3) + " tokens"};
    if (known("mpi_bytes") > 0)
        totals.push_back(number(total("mpi_bytes") / 1e6, 1) + " MB read by MPI");
    if (known("store_bytes") > 0)
        totals.push_back(number(total("store_bytes") / 1e6, 1) + " MB read from the store");
    if (known("merge_s") > 0)
        totals.push_back(number(total("merge_s"), 1) + " " + data.real_s() + " merging");
    if (known("kwh") > 0) totals.push_back(significant(total("kwh")) + " kWh");
    if (known("gco2") == std::ssize(rounds))
        totals.push_back(mark_of(data["totals"]["all"]["co2_bound"]) + significant(total("gco2")) +
                         " g");
    auto out = fmt::format("{} rounds: {}.", number(static_cast<double>(rounds.size())),
                           fmt::join(totals, ", "));
    if (auto const why = data.missing("bytes"); !why.empty()) out += " Bytes: " + why + ".";
    if (auto const why = data.missing("delta_norm"); !why.empty()) out += " Δ norm: " + why + ".";
    return note(keep_units(out));
}

Html events_table(PageData const& data, std::vector<View> const& events)
{
    Table table{"Events",
                {{"UTC", text},
                 {.title = "Elapsed, s"},
                 {"Event", text},
                 {.title = "Round"},
                 {"Site", text},
                 {"Details", text}}};
    auto const code = [](View word) {
        Cell cell(word);
        cell.style_class = "m";
        return cell;
    };
    for (std::size_t i = 0; i < std::min(events.size(), most_events); ++i) {
        auto const& e = events[i];
        table.rows.push_back({data.time(e[0]), "+" + number(e[0], 1), code(e[1]),
                              e[2] ? std::to_string(e[2].integer()) : "",
                              e[3] ? Cell(data.dotted(e[3])) : Cell(""), code(e[4])});
    }
    return to_html(table, {.style_class = data.has_several_days() ? "dated" : "", .is_tall = true});
}

}  // namespace

Html power_lines(PageData const& data)
{
    Html out;
    for (auto const& line : data["audit"]["lines"].list())
        if (line["key"].text() == "power")
            out += element("p.kind", keep_units(line["title"].text() + ": " + line["text"].text()));
    return out;
}

Html audit_panel(PageData const& data)
{
    Html lines;
    for (auto const& line : data["audit"]["lines"].list())
        lines +=
            element("dt", line["title"].text()) +
            element("dd", {{"data-audit", line["key"].text()}}, keep_units(line["text"].text()));
    return element("div.facts", element("div.fact.wide", element("dl", lines)));
}

Html work_panel(PageData const& data)
{
    auto const sites = data["work"]["sites"].list();
    if (sites.empty() || data["commits"]["all"].number_or(0) == 0) return {};
    Table table{"Work by site",
                {{"Site", text},
                 {.title = "Trained", .unit = "tokens"},
                 {.title = "In the model", .unit = "tokens"},
                 {.title = "Lost", .unit = "tokens"},
                 {.title = "Refused", .unit = "contributions"},
                 {.title = "Clipped", .unit = "contributions"},
                 {.title = "Removed", .unit = "times"}}};
    std::string losses;
    for (auto const& site : sites) {
        table.rows.push_back(work_row(data.dotted(site["site"]), site));
        auto const loss = site["last_loss"];
        if (!loss) continue;
        losses +=
            fmt::format(" {}, {}{}: {} ({}).", data.label(site["site"]), loss["time"].text(),
                        loss["commit"] ? fmt::format(", commit {}", loss["commit"].integer()) : "",
                        loss["why"].text(),
                        loss["tokens"] ? number(loss["tokens"]) + " tokens" : "tokens unknown");
    }
    if (sites.size() > 1) table.sums.push_back(work_row("All sites", data["work"]["all"]));
    return to_html(table) + (losses.empty() ? Html() : note("Last losses:" + losses)) +
           note(
               "The commits say what is in the model, refused, clipped and removed. The sites' "
               "logs say what was trained, and what was lost with a removed member or an ended "
               "trainer. What is missing from the sum is not decided yet, was lost by a kill, or "
               "is in a record about which the store gave no answer.");
}

Html rounds_panel(PageData const& data)
{
    auto const rounds = data["rounds"].list();
    if (rounds.empty())
        return empty(
            "No round has ended yet: the first one ends when a lone site commits or two sites "
            "merge.");
    return rounds_table(data, rounds) + round_notes(rounds) + totals_note(data, rounds);
}

Html events_panel(PageData const& data)
{
    auto const events = data["events"].list();
    if (events.empty()) return empty("The run has logged no events yet.");
    auto const left_out = data["events_left_out"].number_or(0);
    auto const shown = fmt::format("{} of {}", std::min(events.size(), most_events), events.size());
    auto const count = left_out > 0 ? shown + ", " + number(left_out) + " left out" : shown;
    auto out = element("div.filters", element("span.count", {{"aria-live", "polite"}}, count)) +
               events_table(data, events);
    if (left_out > 0)
        out += note(fmt::format(
            "The run logged {} events. This page leaves out {} in the middle; the run's "
            "events.jsonl files hold all of them.",
            number(static_cast<double>(events.size()) + left_out), number(left_out)));
    return out;
}

Html facts_panel(PageData const& data)
{
    Html groups;
    for (auto const& group : data["facts"].list()) {
        Html rows;
        for (auto const& fact : group["rows"].list())
            rows += element("dt", fact[0].text()) +
                    element("dd", fact[1] ? Html(keep_units(fact[1].text()))
                                          : element("span.nr", "not recorded"));
        groups += element(group["wide"].is_true() ? "div.fact.wide" : "div.fact",
                          element("h3", group["title"].text()) + element("dl", rows));
    }
    return groups.empty() ? empty("No facts about the run are recorded.")
                          : element("div.facts", groups);
}

Html notes_panel(PageData const& data)
{
    Html entries;
    for (auto const& entry : data["notes"].list())
        entries +=
            element("li", element("b", entry[0].text() + ". ") + keep_units(entry[1].text()));
    return entries.empty() ? Html() : element("ol.notes", entries);
}

}  // namespace curtail::report
