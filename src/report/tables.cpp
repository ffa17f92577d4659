// SPDX-License-Identifier: Apache-2.0
#include "report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "account/audit.hpp"
#include "account/figures.hpp"
#include "core/text.hpp"
#include "energy/bill.hpp"
#include "report/number.hpp"

namespace curtail::report {
namespace {

std::string spread_text(std::optional<account::Spread> const& s)
{
    return s ? fmt::format("{:.1f} / {:.1f} / {:.1f}", s->least, s->median, s->greatest) : "-";
}

std::string decisions_text(account::Account const& a)
{
    TextTable table({"decision", "", "trace s", "g/kWh", "reason"}, 2);
    std::size_t count = 0;
    for (auto const& d : a.decisions) {
        bool const opens = d.from == "closed" && d.to != "closed";
        if (!opens && d.to != "closed") continue;
        table.add({printable(a.sites.at(d.site).id.value), opens ? "open" : "close",
                   number(d.at_s, 0), number(d.intensity, 0), printable(d.reason)});
        ++count;
    }
    return count == 0 ? "no window has opened\n" : table.text();
}

// Grams, with `>` if some of the intensity is unknown: the figure is then a lower bound.
std::string grams_text(energy::Tally const& tally)
{
    auto const known = tally.known_carbon();
    if (!known) return "-";
    return (tally.whole() ? "" : ">") + number(known->value, 1);
}

std::vector<std::string> site_row(std::string name, energy::Bill const& bill,
                                  account::Account const& a)
{
    auto const& tally = bill.total;
    std::vector<std::string> row{std::move(name),
                                 (tally.partial ? ">" : "") + number(tally.energy.value / 1000, 3),
                                 number(bill.inside_share(), 1, 100),
                                 number(tally.clean_share(), 1, 100), grams_text(tally)};
    for (auto const& s : a.always_on)
        row.push_back(number(account::carbon_ratio(tally, s.range.front()), 2, 100));
    return row;
}

std::string sites_text(account::Account const& a)
{
    std::vector<std::string> head{"site", "kWh", "in windows %", "curtailed %", "gCO2"};
    for (auto const& s : a.always_on) head.push_back("% of on, " + printable(s.region));
    TextTable table(std::move(head));
    for (auto const& s : a.sites) table.add(site_row(printable(s.label), s.bill, a));
    table.add(site_row("all sites", total_bill(a), a));
    return table.text();
}

std::string work_text(account::Account const& a)
{
    TextTable table({"site", "tokens", "rounds with others", "alone",
                     "open to first step, s (min / median / max)", "stop to exit, s"});
    for (auto const& s : a.sites)
        table.add({printable(s.label), std::to_string(s.tokens.value),
                   std::to_string(s.joint_rounds), std::to_string(s.lone_rounds),
                   spread_text(s.startup), spread_text(s.drain)});
    return table.text();
}

// Limits for starts and stops of a replay on one machine, real seconds.
struct Limits {
    double alone;
    double others_trained;
};

std::string worst_text(account::Account const& a, char const* what,
                       std::optional<account::Latency> account::WindowAccount::*latency,
                       Limits limits)
{
    std::string text;
    for (bool const others : {false, true}) {
        auto const spread = account::spread_of(a.windows, latency, others);
        text += fmt::format("{} {}", text.empty() ? "" : ";",
                            others ? "while another site trained" : "with no other site training");
        if (!spread) {
            text += " -";
            continue;
        }
        text += fmt::format(" {:.1f} s", spread->greatest);
        if (a.clock_factor != 1)
            text += fmt::format(" (limit {:g} s)", others ? limits.others_trained : limits.alone);
    }
    return fmt::format("  longest {}:{}\n", what, text);
}

std::string latencies_text(account::Account const& a)
{
    if (a.windows.empty()) return "";
    TextTable table({"window", "trace s", "open to first step, s", "another trained",
                     "stop to exit, s", "another trained"});
    auto const took = [](std::optional<account::Latency> const& latency) {
        return latency ? number(latency->seconds, 2) : std::string("-");
    };
    auto const others = [](std::optional<account::Latency> const& latency) {
        return std::string(!latency ? "-" : latency->others_trained ? "yes" : "no");
    };
    for (auto const& w : a.windows)
        table.add({printable(a.sites.at(w.site).id.value), number(w.open_s, 0), took(w.start),
                   others(w.start), took(w.stop), others(w.stop)});
    return table.text() + worst_text(a, "start", &account::WindowAccount::start, {8, 12}) +
           worst_text(a, "stop", &account::WindowAccount::stop, {2, 4}) + "\n";
}

bool is_joint(account::Scenario const& s) { return s.rate && !s.rate->lone; }

std::string always_on_table(account::Account const& a)
{
    TextTable table(
        {"always on in", "kWh", "curtailed %", "gCO2", "this run %", "tokens/s", "of site"});
    for (auto const& s : a.always_on) {
        auto const& tally = s.range.front();
        table.add(
            {printable(s.region), number(tally.energy.value / 1000, 3),
             number(tally.clean_share(), 1, 100), grams_text(tally),
             number(account::carbon_ratio(total_of(a), tally), 2, 100),
             s.rate ? fmt::format("{}{:.0f}", is_joint(s) ? "*" : "", s.rate->tokens_per_s) : "-",
             printable(s.as_site)});
    }
    return table.text();
}

std::string always_on_text(account::Account const& a)
{
    if (a.always_on.empty()) {
        auto const why = a.missing.find("always_on");
        return "no comparison with always-on: " +
               (why == a.missing.end() ? std::string("not computed") : why->second) + "\n";
    }
    std::string text = always_on_table(a);
    text += fmt::format("  {} tokens at one site's rate and training power\n", a.trained().value);
    if (std::any_of(a.always_on.begin(), a.always_on.end(), &is_joint))
        text += "  *: in joint rounds, because the site has no step without another site\n";
    if (auto const why = a.missing.find("ratio"); why != a.missing.end())
        text += "  no percentages: " + why->second + "\n";
    for (auto const& line : account::held_after_signal(a)) text += "  " + printable(line) + "\n";
    for (auto const& s : a.always_on)
        if (auto const& tally = s.range.front(); tally.unknown.value > 0)
            text += fmt::format(
                "  {}: {:.3f} of {:.3f} kWh are drawn where no sample holds; their CO2 is "
                "unknown{}\n",
                printable(s.region), tally.unknown.value / 1000, tally.energy.value / 1000,
                tally.whole() ? "" : ", so no percentage is given");
    return text;
}

std::string audit_text(account::Account const& a)
{
    std::string text;
    for (auto const& line : account::audit_of(a))
        text += fmt::format("{}: {}\n", printable(line.title), printable(line.text));
    return text;
}

std::string closing_text(account::Account const& a)
{
    auto const& c = a.commits;
    std::string text = fmt::format(
        "{} commits: {} merged from two sites or more, {} of a lone site, {} of the roster; {} "
        "tokens in the model\n",
        c.all(), c.joint, c.lone, c.roster, a.tokens.value);
    if (a.held_out)
        text += fmt::format(
            "held-out loss {:.3f} nats per token at commit {}{}; unigram entropy {:.3f}: {:.3f} "
            "{}\n",
            a.held_out->loss, a.held_out->commit,
            a.held_out->newer ? fmt::format(" (the model is at {})", *a.held_out->newer) : "",
            a.held_out->unigram_entropy, std::abs(a.held_out->unigram_entropy - a.held_out->loss),
            a.held_out->loss <= a.held_out->unigram_entropy ? "below" : "above");
    if (auto const why = a.missing.find("held_out"); why != a.missing.end())
        text += why->second + "\n";
    auto const unknown = total_of(a).unknown;
    if (auto const why = a.missing.find("carbon"); why != a.missing.end())
        text += "CO2 is unknown: " + printable(why->second) + "\n";
    else if (unknown.value > 0)
        text += fmt::format(
            "{:.3f} kWh were drawn while the signal was unknown: their CO2 is not in these "
            "figures, and curtailed % is of the rest\n",
            unknown.value / 1000);
    if (a.clock_factor != 1)
        text += fmt::format(
            "the signal was replayed at {0:g} times real speed: windows and energy are on its "
            "clock. "
            "Starts, stops and training took real time, so each real second counts as {0:g} s\n",
            a.clock_factor);
    for (auto const& warning : a.warnings) text += "warning: " + printable(warning) + "\n";
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
            bool const is_text = i < left_ || (i + 1 == row.size() && left_ > 1);
            line += "  " + (is_text ? fmt::format("{:<{}}", row[i], widths[i])
                                    : fmt::format("{:>{}}", row[i], widths[i]));
        }
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out += line + "\n";
    }
    return out;
}

std::string summary_text(account::Account const& a)
{
    return "run " + printable(a.name) + ", " + printable(a.status) + "\n\n" + decisions_text(a) +
           "\n" + sites_text(a) + "\n" + work_text(a) + "\n" + latencies_text(a) +
           always_on_text(a) + "\n" + audit_text(a) + "\n" + closing_text(a);
}

}  // namespace curtail::report
