// SPDX-License-Identifier: Apache-2.0
#include "report/csv_tables.hpp"

#include <fmt/format.h>

#include "account/audit.hpp"
#include "account/figures.hpp"
#include "core/csv.hpp"
#include "energy/bill.hpp"

namespace curtail::report {
namespace {

using Row = std::vector<std::string>;
using account::Account;
using account::MaybeSeconds;

std::string value(double number) { return fmt::format("{:.12g}", number); }
std::string value(std::optional<double> number) { return number ? value(*number) : std::string(); }
std::string value(std::int64_t number) { return std::to_string(number); }
std::string value(std::optional<Bytes> bytes)
{
    return bytes ? value(bytes->value) : std::string();
}
std::string value(Tokens tokens) { return std::to_string(tokens.value); }
std::string value(bool flag) { return flag ? "true" : "false"; }

std::string utc(Account const& a, MaybeSeconds s)
{
    if (!s) return "";
    return format_time(a.time_zero + std::chrono::round<Millis>(FractionalSeconds(*s)));
}

std::string seconds(std::optional<account::Latency> const& latency)
{
    return latency ? value(latency->seconds) : std::string();
}
std::string others_trained(std::optional<account::Latency> const& latency)
{
    return latency ? value(latency->others_trained) : std::string();
}

std::string grams(std::optional<Grams> carbon)
{
    return carbon ? value(carbon->value) : std::string();
}

// Energy and carbon: the columns that several tables share.
Row const tally_head{"energy_kwh",      "energy_is_whole", "energy_of_unknown_intensity_kwh",
                     "curtailed_share", "co2_g",           "co2_above_threshold_g",
                     "co2_is_whole"};

Row tally_row(energy::Tally const& tally)
{
    return {value(tally.energy.value / 1000),
            value(!tally.partial),
            value(tally.unknown.value / 1000),
            value(tally.clean_share()),
            grams(tally.known_carbon()),
            grams(tally.known_carbon_dirty()),
            value(tally.whole())};
}

Row joined(Row row, Row const& more)
{
    row.insert(row.end(), more.begin(), more.end());
    return row;
}

CsvTable sites_table(Account const& a)
{
    CsvTable table{
        "sites",
        joined({"site", "region", "devices", "idle_w", "training_w", "pue", "tokens",
                "joint_rounds", "lone_rounds", "allocated_s", "held_devices_s", "goodput"},
               tally_head),
        {}};
    for (auto const& s : a.sites)
        table.rows.push_back(
            joined({s.id.value, s.region.value, s.devices, value(s.power.idle.value),
                    value(s.power.training.value), value(s.power.pue), value(s.tokens),
                    value(s.joint_rounds), value(s.lone_rounds), value(seconds_in(s)),
                    value(account::held_s(s)), value(account::goodput(s))},
                   tally_row(s.bill.total)));
    return table;
}

CsvTable energy_table(Account const& a)
{
    CsvTable table{"energy", joined({"site", "state"}, tally_head), {}};
    for (auto const& s : a.sites)
        for (auto const& [state, tally] : s.bill.by_state)
            table.rows.push_back(joined({s.id.value, energy::name(state)}, tally_row(tally)));
    return table;
}

CsvTable states_table(Account const& a)
{
    CsvTable table{"states", {"site", "state", "from_utc", "to_utc"}, {}};
    for (auto const& s : a.sites)
        for (auto const& span : s.states)
            table.rows.push_back(
                {s.id.value, span.state, utc(a, span.when.from_s), utc(a, span.when.to_s)});
    return table;
}

CsvTable windows_table(Account const& a)
{
    CsvTable table{"windows",
                   joined({"site", "opened_utc", "closed_utc", "released_utc", "first_step_utc",
                           "last_step_utc", "steps", "open_to_first_step_real_s",
                           "open_to_first_step_another_trained", "stop_to_exit_real_s",
                           "stop_to_exit_another_trained"},
                          tally_head),
                   {}};
    for (auto const& w : a.windows)
        table.rows.push_back(joined(
            {a.sites.at(w.site).id.value, utc(a, w.open_s), utc(a, w.close_s), utc(a, w.released_s),
             utc(a, w.first_step_s), utc(a, w.last_step_s), value(w.steps), seconds(w.start),
             others_trained(w.start), seconds(w.stop), others_trained(w.stop)},
            tally_row(w.tally)));
    return table;
}

CsvTable rounds_table(Account const& a)
{
    CsvTable table{"rounds",
                   joined({"round", "began_utc", "ended_utc", "merged_utc", "mode", "steps",
                           "tokens", "duration_real_s", "merge_real_s", "delta_norm_per_sqrt_token",
                           "loss_nats_per_token", "mpi_bytes", "store_bytes", "note"},
                          tally_head),
                   {}};
    for (auto const& r : a.rounds)
        table.rows.push_back(
            joined({value(r.number), utc(a, r.start_s), utc(a, r.end_s), utc(a, r.merged_s),
                    r.joint() ? "joint" : "lone", value(r.steps), value(r.tokens),
                    value(r.duration), value(r.merge), value(r.delta_norm), value(r.loss),
                    value(r.by_mpi), value(r.from_store), r.note},
                   tally_row(r.tally)));
    return table;
}

CsvTable parts_table(Account const& a)
{
    CsvTable table{"round_sites",
                   {"round", "site", "steps", "tokens", "weight", "before_first_step_real_s",
                    "training_real_s", "after_last_step_real_s"},
                   {}};
    for (auto const& r : a.rounds)
        for (auto const& p : r.parts)
            table.rows.push_back({value(r.number), a.sites.at(p.site).id.value, value(p.steps),
                                  value(p.tokens), value(p.weight), value(p.before), value(p.train),
                                  value(p.after)});
    return table;
}

// A scenario whose regions vary has a row for its lowest and one for its highest carbon.
CsvTable comparison_table(Account const& a)
{
    CsvTable table{
        "comparison",
        joined({"scenario", "label", "region", "as_site", "sites", "wall_s", "step_real_s",
                "tokens", "share_of_scenario_co2", "training_perplexity", "held_out_perplexity"},
               tally_head),
        {}};
    auto const add = [&](account::Scenario const& s, energy::Tally const& tally) {
        // Of the run itself: 1, if its carbon is known.
        auto const share = account::carbon_ratio(total_of(a), tally);
        table.rows.push_back(
            joined({s.id, s.label, s.region, s.as_site, value(static_cast<std::int64_t>(s.sites)),
                    value(s.wall_s), value(s.step), value(s.tokens), value(share),
                    value(s.perplexity), value(s.held_out_perplexity)},
                   tally_row(tally)));
    };
    auto const add_all = [&](std::vector<account::Scenario> const& scenarios) {
        for (auto const& s : scenarios) {
            add(s, s.range.front());
            if (s.range.size() > 1) add(s, s.range.back());
        }
    };
    if (a.tokens > Tokens{}) add_all({run_scenario(a)});
    add_all(a.always_on);
    add_all(a.other_scenarios);
    return table;
}

CsvTable loss_table(Account const& a)
{
    CsvTable table{
        "loss",
        {"curve", "label", "steps", "training_perplexity_lowest_smoothed",
         "last_steps_loss_nats_per_token", "last_steps_standard_error_nats_per_token", "wall_s"},
        {}};
    if (!a.loss) return table;
    for (auto const& f : a.loss->finals)
        table.rows.push_back({f.id, f.label, value(f.steps), value(f.best_perplexity),
                              value(f.tail_loss), value(f.tail_error), value(f.wall_s)});
    return table;
}

CsvTable held_out_table(Account const& a)
{
    CsvTable table{"held_out",
                   {"commit", "loss_nats_per_token", "unigram_entropy_nats_per_token", "tokens",
                    "bits_per_byte", "trained_tokens", "site", "missing"},
                   {}};
    for (auto const& [model, at_s] : a.followed) {
        auto const& l = model.line;
        table.rows.push_back({value(l.commit.value), value(l.loss), value(l.unigram_entropy),
                              value(l.tokens), value(l.bits_per_byte), value(l.trained),
                              model.site.value, l.missing});
    }
    if (auto const& h = a.held_out; h && !h->followed)
        table.rows.push_back({value(h->commit), value(h->loss), value(h->unigram_entropy),
                              value(h->tokens), value(h->bits_per_byte), value(h->trained), "",
                              ""});
    return table;
}

CsvTable decisions_table(Account const& a)
{
    CsvTable table{
        "decisions", {"time_utc", "site", "from", "to", "reason", "intensity_g_per_kwh"}, {}};
    for (auto const& d : a.decisions)
        table.rows.push_back({utc(a, d.at_s), a.sites.at(d.site).id.value, d.from, d.to, d.reason,
                              value(d.intensity)});
    return table;
}

CsvTable events_table(Account const& a)
{
    CsvTable table{"events", {"time_utc", "type", "round", "site", "details"}, {}};
    for (auto const& e : a.events)
        table.rows.push_back(
            {utc(a, e.at_s), e.type, e.round ? value(*e.round) : std::string(), e.site, e.details});
    return table;
}

CsvTable facts_table(Account const& a)
{
    CsvTable table{"facts", {"group", "name", "value"}, {}};
    for (auto const& group : a.facts)
        for (auto const& [name, fact] : group.rows)
            table.rows.push_back({group.title, name, fact.value_or("")});
    return table;
}

CsvTable statements_table(Account const& a)
{
    CsvTable table{"statements", {"kind", "title", "text"}, {}};
    for (auto const& line : account::audit_of(a))
        table.rows.push_back({"audit", line.title, line.text});
    for (auto const& p : a.provenance)
        table.rows.push_back({energy::name(p.provenance.origin), p.title,
                              p.provenance.source + (p.text.empty() ? "" : ": " + p.text)});
    for (auto const& [title, text] : a.notes) table.rows.push_back({"note", title, text});
    for (auto const& [key, reason] : a.missing) table.rows.push_back({"missing", key, reason});
    return table;
}

}  // namespace

std::string CsvTable::text() const
{
    std::string out = csv::line_of(head);
    for (auto const& row : rows) out += csv::line_of(row);
    return out;
}

std::vector<CsvTable> csv_tables(Account const& a)
{
    return {sites_table(a),     energy_table(a),    states_table(a),     windows_table(a),
            rounds_table(a),    parts_table(a),     comparison_table(a), loss_table(a),
            held_out_table(a),  decisions_table(a), events_table(a),     facts_table(a),
            statements_table(a)};
}

}  // namespace curtail::report
