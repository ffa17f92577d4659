#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.hpp"

namespace curtail::report {
namespace {

std::string number(std::optional<double> value, int digits, double factor = 1)
{
    return value ? fmt::format("{:.{}f}", *value * factor, digits) : "-";
}

std::string spread_text(std::optional<Spread> const& s)
{
    return s ? fmt::format("{:.1f} / {:.1f} / {:.1f}", s->least, s->median, s->greatest) : "-";
}

std::string decisions_text(Account const& a)
{
    TextTable table({"decision", "", "trace s", "g/kWh", "reason"}, 2);
    std::size_t count = 0;
    for (auto const& d : a.decisions) {
        bool const opens = d.from == "closed" && d.to != "closed";
        if (!opens && d.to != "closed") continue;
        table.add({printable(a.sites.at(d.site).id.value), opens ? "open" : "close", number(d.at_s, 0), number(d.intensity, 0),
                   printable(d.reason)});
        ++count;
    }
    return count == 0 ? "no window has opened\n" : table.text();
}

std::vector<std::string> site_row(std::string name, energy::Tally const& tally, WattHours inside, Account const& a)
{
    std::vector<std::string> row{std::move(name), number(tally.energy.value / 1000, 3),
                                 tally.energy.value > 0 ? number(ratio(inside, tally.energy), 1, 100) : "-",
                                 number(tally.clean_share(), 1, 100), number(tally.carbon.value, 1)};
    for (auto const& s : a.always_on) { row.push_back(number(a.ratio_to(s.range.front(), tally.carbon), 2, 100)); }
    return row;
}

std::string sites_text(Account const& a)
{
    std::vector<std::string> head{"site", "kWh", "in windows %", "curtailed %", "gCO2"};
    for (auto const& s : a.always_on) head.push_back("% of on, " + printable(s.region));
    TextTable table(std::move(head));
    for (auto const& s : a.sites) table.add(site_row(printable(s.label), s.ledger.total, s.ledger.inside_windows, a));
    table.add(site_row("all sites", a.total(), a.inside_windows(), a));
    return table.text();
}

std::string work_text(Account const& a)
{
    TextTable table({"site", "tokens", "rounds with others", "alone", "open to first step, s (min / median / max)", "stop to exit, s"});
    for (auto const& s : a.sites)
        table.add({printable(s.label), std::to_string(s.tokens), std::to_string(s.joint_rounds), std::to_string(s.lone_rounds),
                   spread_text(s.startup), spread_text(s.drain)});
    return table.text();
}

std::string always_on_text(Account const& a)
{
    if (a.always_on.empty()) {
        auto const why = a.missing.find("always_on");
        return "no comparison with always-on: " + (why == a.missing.end() ? std::string("not computed") : why->second) + "\n";
    }
    TextTable table({"always on in", "kWh", "curtailed %", "gCO2", "this run %"});
    for (auto const& s : a.always_on) {
        auto const& tally = s.range.front();
        table.add({printable(s.region), number(tally.energy.value / 1000, 3), number(tally.clean_share(), 1, 100),
                   number(tally.carbon.value, 1), number(a.ratio_to(tally, a.total().carbon), 2, 100)});
    }
    std::string text = table.text();
    if (a.lone_rate)
        text += fmt::format("  {} tokens at the lone rate, {:.0f} tokens per real second, at training power\n", a.tokens, *a.lone_rate);
    if (auto const why = a.missing.find("ratio"); why != a.missing.end()) text += "  no percentages: " + why->second + "\n";
    if (auto const unknown = a.always_on.front().range.front().unknown; unknown.value > 0)
        text += fmt::format("  {:.3f} kWh of it lie where the trace has no sample: their CO2 is not known and not in these figures\n",
                            unknown.value / 1000);
    return text;
}

std::string closing_text(Account const& a)
{
    auto const& c = a.commits;
    std::string text =
        fmt::format("{} commits: {} merged from two sites or more, {} of a lone site, {} of the roster; {} tokens in the model\n",
                    c.genesis + c.roster + c.joint + c.lone, c.joint, c.lone, c.roster, a.tokens);
    if (a.held_out)
        text += fmt::format("held-out loss {:.3f} nats per token at commit {}; unigram entropy {:.3f}: {:.3f} below\n", a.held_out->loss,
                            a.held_out->commit, a.held_out->unigram_entropy, a.held_out->unigram_entropy - a.held_out->loss);
    auto const unknown = a.total().unknown;
    if (unknown.value > 0)
        text += fmt::format("{:.3f} kWh were drawn while the signal was unknown: they cause no CO2 here\n", unknown.value / 1000);
    if (a.clock_factor != 1)
        text += fmt::format(
            "signal at {:g} times real speed: energy and windows on its clock, starts, stops and training in real seconds, stretched {:g} "
            "times\n",
            a.clock_factor, a.clock_factor);
    return text;
}

}  // namespace

std::string TextTable::text() const
{
    std::vector<std::size_t> widths(rows_.at(0).size());
    for (auto const& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string out;
    for (auto const& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            bool const words = i < left_ || (i + 1 == row.size() && left_ > 1);
            line += "  " + (words ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]));
        }
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out += line + "\n";
    }
    return out;
}

std::string summary_text(Account const& a)
{
    return "run " + printable(a.name) + ", " + printable(a.status) + "\n\n" + decisions_text(a) + "\n" + sites_text(a) + "\n" +
           work_text(a) + "\n" + always_on_text(a) + "\n" + closing_text(a);
}

}  // namespace curtail::report
