// SPDX-License-Identifier: Apache-2.0
#include "bill/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/core/columns.hpp"
#include "base/core/text.hpp"
#include "bill/account/figures.hpp"
#include "bill/report/format.hpp"
#include "bill/report/table.hpp"
#include "bill/report/view.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;
constexpr auto number = Column::Kind::number;

Column modelled(std::string title) { return {.title = std::move(title), .is_modelled = true}; }

Cell percent(View share) { return share ? json::Value(share.number_or(0) * 100) : json::Value(); }

// Minimum, median and maximum.
std::string spread_text(View s)
{
    return s ? fmt::format("{:.1f} / {:.1f} / {:.1f}", s["min"].number_or(0),
                           s["median"].number_or(0), s["max"].number_or(0))
             : "-";
}

std::string decisions_text(View doc)
{
    Table table{"decisions",
                {{"decision", text}, {"", text}, {"trace s"}, {"g/kWh"}, {"reason", text}}};
    for (auto const& d : doc["decisions"].list()) {
        bool const opens = d["from"].text() == "closed" && d["to"].text() != "closed";
        if (!opens && d["to"].text() != "closed") continue;
        table.rows.push_back(
            {d["site"], opens ? "open" : "close", d["t"], d["intensity"], d["reason"]});
    }
    return table.rows.empty() ? "no window has opened\n" : to_text(table);
}

// The mark of a figure that is no exact one.
std::string bound_of(View bound)
{
    if (bound.text() == "at least") return ">";
    if (bound.text() == "at most") return "<";
    return bound.text() == "uncertain" ? "~" : "";
}

Cell grams(View grams, View bound) { return {grams.value(), grams ? bound_of(bound) : ""}; }

std::vector<View> always_on_of(View doc)
{
    std::vector<View> out;
    for (auto const& scenario : doc["comparison"].list())
        if (scenario["id"].text().starts_with("one:")) out.push_back(scenario);
    return out;
}

// A setting of a site over time. `value_of` takes an element of the site's `settings`, or the site.
template <class Value>
std::string over_time(View site, Value const& value_of)
{
    auto const settings = site["settings"].list();
    if (settings.empty()) return value_of(site);
    std::vector<account::Applied> values;
    values.reserve(settings.size());
    for (auto const& then : settings) values.push_back({then["from"].text(), value_of(then)});
    return account::over_time(values);
}

std::string threshold_of(View settings)
{
    return fmt::format("{:g}", settings["open_below"].number_or(0));
}

// `<100 g/kWh %`: the share of energy drawn below the threshold of all sites.
std::string below_title(View doc)
{
    std::set<std::string> thresholds;
    for (auto const& site : doc["sites"].list()) thresholds.insert(over_time(site, threshold_of));
    bool const is_one =
        thresholds.size() == 1 && thresholds.begin()->find(' ') == std::string::npos;
    return is_one ? "<" + *thresholds.begin() + " g/kWh %" : "below threshold %";
}

// Lists the thresholds if not all energy has the same. Otherwise, the title of the column says it.
std::string thresholds_text(View doc)
{
    if (below_title(doc).starts_with('<')) return "";
    std::string sites;
    for (auto const& site : doc["sites"].list())
        sites += (sites.empty() ? "" : "; ") + printable(site["id"].text()) + " " +
                 over_time(site, threshold_of);
    return sites.empty() ? "" : "  threshold in force, g/kWh: " + sites + "\n";
}

// Whether the power of a site was known at some time.
bool has_power(View site)
{
    auto const settings = site["settings"].list();
    return site["power"]["idle_kw"] || std::ranges::any_of(settings, [](View const& then) {
               return static_cast<bool>(then["power"]["idle_kw"]);
           });
}

// Says what the sites' nodes do between jobs, and what follows for the totals.
std::string between_jobs_text(View doc)
{
    std::string nodes;
    std::string unknown;
    for (auto const& s : doc["sites"].list()) {
        auto const id = printable(s["id"].text());
        if (has_power(s))
            nodes += (nodes.empty() ? "" : ", ") + id + " " +
                     over_time(s, [](View then) { return then["power"]["between_jobs"].text(); });
        else
            unknown += fmt::format("  {}: power unknown, so no kWh; {:.2f} h with devices\n", id,
                                   doc["allocated_h"][s["id"].text()].number_or(0));
    }
    auto out = nodes.empty() ? "" : "  nodes between jobs: " + nodes + "\n";
    if (auto const kwh = doc["headline"]["energy_if_idle_kwh"]) {
        auto const kg = doc["headline"]["co2_if_idle_kg"].number();
        out += fmt::format("  if all of unknown state stay on: {} kWh, {} marginal gCO2\n",
                           significant(kwh), kg ? significant(*kg * 1000) : std::string("unknown"));
    }
    return unknown + out;
}

std::string sites_text(View doc)
{
    Table table{"sites",
                {{"site", text},
                 modelled("kWh"),
                 modelled("in windows %"),
                 modelled(below_title(doc)),
                 modelled("marginal gCO2")}};
    auto const add = [&](std::string name, View total) {
        table.rows.push_back({std::move(name),
                              {total["kwh"], bound_of(total["energy_bound"])},
                              percent(total["share_inside_windows"]),
                              percent(total["share"]),
                              grams(total["g"], total["co2_bound"])});
    };
    for (auto const& s : doc["sites"].list())
        add(s["label"].text(), doc["totals"]["sites"][s["id"].text()]);
    add("all sites", doc["totals"]["all"]);
    return to_text(table) + thresholds_text(doc) + between_jobs_text(doc);
}

std::string work_text(View doc)
{
    Table table{"work",
                {{"site", text},
                 {"tokens"},
                 {"rounds with others"},
                 {"rounds alone"},
                 {"open to first step, s"},
                 {"stop to exit, s"}}};
    for (auto const& s : doc["sites"].list()) {
        auto const work = doc["totals"]["sites"][s["id"].text()];
        auto const times = doc["times"][s["id"].text()];
        table.rows.push_back({s["label"], work["tokens"], work["joint_rounds"], work["lone_rounds"],
                              spread_text(times["startup_s"]), spread_text(times["drain_s"])});
    }
    return to_text(table) + "  seconds: minimum / median / maximum\n";
}

std::string balance_text(View doc)
{
    Table table{"balance",
                {{"site", text},
                 {"tokens trained"},
                 {"in the model"},
                 {"lost"},
                 {"refused"},
                 {"clipped"},
                 {"removed"}}};
    for (auto const& site : doc["work"]["sites"].list())
        table.rows.push_back(work_row(site["site"], site));
    table.rows.push_back(work_row("all sites", doc["work"]["all"]));
    return to_text(table);
}

// Limits for starts and stops of a replay on one machine, real seconds.
struct Limits {
    double alone;
    double others_trained;
};

std::string longest_text(char const* what, View spreads, Limits limits, bool is_replay)
{
    auto const part = [&](char const* key, double limit) -> std::string {
        auto const longest = spreads[key]["max"];
        if (!longest) return " -";
        return fmt::format(" {:.1f} s", longest.number_or(0)) +
               (is_replay ? fmt::format(" (limit {:g} s)", limit) : "");
    };
    return fmt::format(
        "  longest {}: with no other site training{}; while another site trained{}\n", what,
        part("alone", limits.alone), part("beside", limits.others_trained));
}

bool is_replay(View doc) { return doc["run"]["clock_factor"].number_or(1) != 1; }

std::string latencies_text(View doc)
{
    auto const windows = doc["windows"].list();
    if (windows.empty()) return "";
    Table table{"latencies",
                {{"window", text},
                 {"trace s"},
                 {"open to first step, s", number, 2},
                 {"another trained"},
                 {"stop to exit, s", number, 2},
                 {"another trained"}}};
    auto const others = [](View trained) {
        return std::string(!trained ? "-" : trained.is_true() ? "yes" : "no");
    };
    for (auto const& w : windows)
        table.rows.push_back({w["site"], w["open_s"], w["startup_s"], others(w["startup_beside"]),
                              w["stop_s"], others(w["stop_beside"])});
    return to_text(table) +
           longest_text("start", doc["edges"]["start_s"], {8, 12}, is_replay(doc)) +
           longest_text("stop", doc["edges"]["stop_s"], {2, 4}, is_replay(doc)) + "\n";
}

bool is_joint(View scenario) { return scenario["rate"]["from"].text() == "joint"; }

std::string always_on_table(View doc, std::vector<View> const& scenarios)
{
    Table table{"always on",
                {{"always on in", text},
                 modelled("kWh"),
                 modelled(below_title(doc)),
                 modelled("marginal gCO2"),
                 modelled("this run %"),
                 {"tokens/s"},
                 {"of site", text}}};
    for (auto const& s : scenarios) {
        auto const drawn = s["tallies"][0];
        table.rows.push_back({s["region"],
                              drawn["kwh"],
                              percent(drawn["share"]),
                              grams(drawn["gco2"], drawn["co2_bound"]),
                              percent(drawn["ratio"]),
                              {s["rate"]["tokens_per_s"], is_joint(s) ? "*" : ""},
                              s["as_site"].text()});
    }
    return to_text(table);
}

std::string always_on_text(View doc)
{
    auto const scenarios = always_on_of(doc);
    if (scenarios.empty()) {
        auto const why = doc["missing"]["always_on"].text();
        return "no comparison with always-on: " + (why.empty() ? "not computed" : why) + "\n";
    }
    std::string out = always_on_table(doc, scenarios);
    out += fmt::format("  {} tokens at one site's rate and training power\n",
                       doc["totals"]["all"]["tokens"].integer());
    if (std::any_of(scenarios.begin(), scenarios.end(), &is_joint))
        out += "  *: in joint rounds, because the site has no step without another site\n";
    if (auto const why = doc["missing"]["ratio"]) out += "  no percentages: " + why.text() + "\n";
    for (auto const& line : doc["after_signal"].list()) out += "  " + printable(line.text()) + "\n";
    for (auto const& s : scenarios)
        if (auto const drawn = s["tallies"][0]; drawn["kwh_unknown"].number_or(0) > 0)
            out += fmt::format(
                "  {}: {} of {} kWh are drawn where no sample holds; their CO2 is unknown{}\n",
                printable(s["region"].text()), significant(drawn["kwh_unknown"]),
                significant(drawn["kwh"]),
                drawn["co2_is_whole"].is_true() ? "" : ", so no percentage is given");
    return out;
}

std::string held_out_text(View held_out)
{
    auto const loss = held_out["loss"].number_or(0);
    auto const entropy = held_out["unigram_entropy"].number_or(0);
    auto const newer = held_out["newer_commit"];
    return fmt::format(
        "held-out loss {:.3f} nats per token at commit {}{}; unigram entropy {:.3f}: {:.3f} {}\n",
        loss, held_out["commit"].integer(),
        newer ? fmt::format(" (the model is at {})", newer.integer()) : "", entropy,
        std::abs(entropy - loss), loss <= entropy ? "below" : "above");
}

std::string closing_text(View doc)
{
    auto const commits = doc["commits"];
    std::string out = fmt::format(
        "{} commits: {} merged from two sites or more, {} of a lone site, {} of the roster; {} "
        "tokens in the model\n",
        commits["all"].integer(), commits["joint"].integer(), commits["lone"].integer(),
        commits["roster"].integer(), doc["headline"]["tokens"].integer());
    if (auto const held_out = doc["newest_held_out"]) out += held_out_text(held_out);
    if (auto const why = doc["missing"]["held_out"]) out += why.text() + "\n";
    auto const unknown = doc["totals"]["all"]["unknown_kwh"].number_or(0);
    if (auto const why = doc["missing"]["carbon"])
        out += "CO2 is unknown: " + printable(why.text()) + "\n";
    else if (unknown > 0)
        out += fmt::format(
            "{} kWh were drawn while the signal was unknown: their CO2 is not in these figures\n",
            significant(unknown));
    if (is_replay(doc))
        out += fmt::format(
            "the signal was replayed at {0:g} times real speed: windows and energy are on its "
            "clock. Starts, stops and training took real time, so each real second counts as {0:g} "
            "s\n",
            doc["run"]["clock_factor"].number_or(1));
    for (auto const& warning : doc["warnings"].list())
        out += "warning: " + printable(warning.text()) + "\n";
    return out;
}

}  // namespace

std::string summary_text(json::Value const& document)
{
    View const doc(document);
    std::string audit;
    for (auto const& line : doc["audit"]["lines"].list())
        audit += fmt::format("{}: {}\n", printable(line["title"].text()),
                             printable(line["text"].text()));
    return in_terminal_columns(
        "run " + printable(doc["run"]["name"].text()) + ", " +
        printable(doc["run"]["status"].text()) + "\n\n" + decisions_text(doc) + "\n" +
        sites_text(doc) + "\n" + work_text(doc) + "\n" + balance_text(doc) + "\n" +
        latencies_text(doc) + always_on_text(doc) + "\n" + audit + "\n" + closing_text(doc));
}

std::string published_text(json::Value const& document)
{
    View const doc(document);
    auto const values = doc["published"].members();
    std::size_t width = 0;
    for (auto const& [key, v] : values) width = std::max(width, v["label"].text().size());
    std::string out;
    for (auto const& [key, v] : values) {
        auto const unit = v["unit"].text();
        out += fmt::format("{:<{}}  {:>16.12g}{}{}\n", v["label"].text(), width,
                           v["value"].number_or(0), unit.empty() ? "" : " ", unit);
    }
    for (auto const& line : doc["audit"]["lines"].list())
        if (line["key"].text() == "rule")
            out += in_terminal_columns("accounting rule " + line["text"].text()) + "\n";
    return out;
}

}  // namespace curtail::report
