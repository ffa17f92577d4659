// SPDX-License-Identifier: Apache-2.0
// Each site's hours by state, starts and stops, and the parts of a round.
#include <fmt/format.h>

#include <algorithm>

#include "bill/report/page_parts.hpp"

namespace curtail::report {
namespace {

constexpr auto text = Column::Kind::text;

// The states of a site, in groups: name, text.
constexpr std::pair<char const*, char const*> state_groups[] = {
    {"training", "training"},
    {"starting", "starting"},
    {"exchange", "exchange or checkpoint"},
    {"draining", "draining"},
    {"idle", "idle, devices held"},
    {"paused", "suspended, frozen, stalled or requeued"},
    {"closed", "closed"}};

double hours_of_group(View hours, std::string const& group)
{
    double sum = 0;
    for (auto const& [state, value] : hours.members()) {
        bool const is_exchange = state == "contribute" || state == "merge" || state == "adopt";
        bool const is_pause =
            state == "suspended" || state == "frozen" || state == "stalled" || state == "requeued";
        auto const of_state = state == "provision" ? "starting"
                              : is_exchange        ? "exchange"
                              : is_pause           ? "paused"
                                                   : state;
        if (of_state == group) sum += value.number_or(0);
    }
    return sum;
}

// A bar for each site: of the whole run, or only of the time during which the site held devices.
Html hour_bars(PageData const& data, bool is_whole)
{
    double longest = 0;
    for (auto const& s : data.sites()) {
        double sum = 0;
        for (auto const& [state, value] : data["hours"][s["id"].text()].members())
            sum += value.number_or(0);
        longest = std::max(longest, sum);
    }
    Html rows;
    for (auto const& s : data.sites()) {
        auto const id = s["id"].text();
        auto const all = is_whole ? longest : data["allocated_h"][id].number_or(0);
        Html parts;
        for (auto const& [group, name] : state_groups) {
            auto const hours = hours_of_group(data["hours"][id], group);
            if (hours <= 0 || (!is_whole && std::string(group) == "closed")) continue;
            auto const share = hours / (all > 0 ? all : 1);
            parts += element("i",
                             {{"class", std::string("st-") + group},
                              {"style", fmt::format("width:{:.6g}%", 100 * share)},
                              {"title", fmt::format("{}, {}: {} h, {}", s["label"].text(), name,
                                                    number(hours, 2), percent(share))}},
                             "");
        }
        auto const style = "--c:" + data.color_of_site(s["id"]);
        auto const goodput = percent(data["goodput"]["sites"][id].number());
        rows += element("tr",
                        element("td", data.dotted(s["id"])) +
                            element("td", element("div.stack", {{"style", style}}, parts)) +
                            element("td", element("b", goodput) + element("span.gp", " goodput")));
    }
    return element("table.bars",
                   element("caption.vh", "Share of time by state; values in the next table") +
                       element("tbody", rows));
}

// State, heading, unit.
struct HourColumn {
    char const* state;
    char const* title;
    char const* unit;
};
constexpr HourColumn hour_columns[] = {
    {"training", "Training", ""},
    {"provision", "Provisioning", "opening to devices"},
    {"starting", "Starting", "devices to first step"},
    {"exchange", "Exchange", "or lone checkpoint"},
    {"contribute", "Contribute + wait", "last step to round end"},
    {"merge", "Merge", ""},
    {"adopt", "Adopt + restart", "to next first step"},
    {"draining", "Draining", ""},
    {"idle", "Idle", "devices held"},
    {"suspended", "Suspended", "by the scheduler"},
    {"frozen", "Frozen", "processes did not run"},
    {"stalled", "Stalled", "in a step"},
    {"requeued", "Requeued", "waiting to start again"}};

// States that no site was in are left out.
Html hours_table(PageData const& data)
{
    auto const sum_of = [&](char const* state) {
        double sum = 0;
        for (auto const& [site, hours] : data["hours"].members()) sum += hours[state].number_or(0);
        return sum;
    };
    std::vector<char const*> states;
    Table table{"Hours by site and state", {{"Hours", text}}};
    for (auto const& [state, title, unit] : hour_columns) {
        if (state != std::string("training") && sum_of(state) <= 0) continue;
        states.push_back(state);
        table.columns.push_back({.title = title, .unit = unit});
    }
    table.columns.push_back({.title = "Allocated", .digits = 2});
    table.columns.push_back({.title = "Closed", .digits = 2});
    table.columns.push_back({.title = "Goodput", .mark = data.source_mark("goodput")});
    double allocated = 0;
    for (auto const& s : data.sites()) {
        auto const id = s["id"].text();
        auto const hours = data["hours"][id];
        Row row{data.dotted(s["id"])};
        for (auto const* state : states) row.push_back(or_faint_zero(hours[state].number_or(0), 2));
        row.insert(row.end(), {data["allocated_h"][id], hours["closed"],
                               percent(data["goodput"]["sites"][id].number())});
        allocated += data["allocated_h"][id].number_or(0);
        table.rows.push_back(std::move(row));
    }
    Row sums{"All sites"};
    for (auto const* state : states) sums.push_back(or_faint_zero(sum_of(state), 2));
    sums.insert(sums.end(), {json::Value(allocated), json::Value(sum_of("closed")),
                             percent(data["goodput"]["all"].number())});
    table.sums.push_back(std::move(sums));
    return to_html(table);
}

Html starts_and_stops(PageData const& data)
{
    Table table{"Starts and stops by site",
                {{.title = "Starts and stops",
                  .kind = text,
                  .unit = data.real_s() + ": min / median / max"},
                 {"Window open to first step"},
                 {"Windows"},
                 {"Stop request to exit"},
                 {"Stops"}}};
    auto const spread = [](View x) {
        return x ? number(x["min"], 1) + " / " + number(x["median"], 1) + " / " +
                       number(x["max"], 1)
                 : std::string("–");
    };
    bool is_known = false;
    for (auto const& s : data.sites()) {
        auto const times = data["times"][s["id"].text()];
        auto const start = times["startup_s"], stop = times["drain_s"];
        is_known = is_known || start || stop;
        table.rows.push_back(
            {data.dotted(s["id"]), spread(start), start["count"], spread(stop), stop["count"]});
    }
    return is_known ? to_html(table, {.id = "times", .box_style = "margin-top:10px"}) : Html();
}

Html longest_note(PageData const& data)
{
    if (!data["edges"]) return {};
    auto const longest = [&](View spreads) {
        auto const one = [&](char const* key) {
            auto const most = spreads[key]["max"];
            return most ? number(most, 1) + " " + data.real_s() : std::string("–");
        };
        return one("alone") + " with no other site training, " + one("beside") +
               " while another trained";
    };
    return note("Longest start: " + longest(data["edges"]["start_s"]) +
                ". Longest stop: " + longest(data["edges"]["stop_s"]) + ".");
}

Html round_note(PageData const& data)
{
    auto out = data.missing("transfer");
    if (!out.empty()) out += " ";
    if (auto const r = data["round_summary"]) {
        auto const seconds = [&](char const* key) {
            return number(r[key], 1) + " " + data.real_s();
        };
        auto const trained = r["train_s"].number_or(0) / r["duration_s"].number_or(0);
        out += fmt::format(
            "A joint round takes {} from its start to its merge (median of {}): {} before the "
            "first step, {} of training, {} after the last step, {} of merging. No tokens are "
            "trained in {} of that time.",
            seconds("duration_s"), counted(r["joint"].number_or(0), "round"), seconds("before_s"),
            seconds("train_s"), seconds("after_s"), seconds("merge_s"), percent(1 - trained));
    }
    return note(out);
}

}  // namespace

Html time_panel(PageData const& data)
{
    if (data["hours"].members().empty()) return empty("No site has been provisioned yet.");
    Html legend;
    for (auto const& [group, name] : state_groups)
        legend += element(
            "li",
            element("span", {{"class", std::string("sw st-") + group}, {"style", "--c:var(--mid)"}},
                    "") +
                name);
    return element("ul.legend", legend) +
           element("div", {{"id", "hours-span"}}, hour_bars(data, true)) +
           element("div", {{"id", "hours-alloc"}, {"hidden", "hidden"}}, hour_bars(data, false)) +
           hours_table(data) + starts_and_stops(data) + longest_note(data) + round_note(data);
}

}  // namespace curtail::report
