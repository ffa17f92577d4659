// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/core/text.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/signal.hpp"
#include "bill/account/text.hpp"

namespace curtail::account {
namespace {

using Note = std::pair<std::string, std::string>;
using Notes = std::vector<Note>;

std::string kwh(WattHours energy) { return three_digits(energy.value / 1000); }

void add_held_out(Notes& notes, Account const& a, std::string const& rejected)
{
    if (!rejected.empty())
        notes.emplace_back("Held-out loss",
                           rejected + ". It is not shown; evaluate the run again.");
    if (a.held_out && a.held_out->newer && !a.held_out->followed)
        notes.emplace_back("Held-out loss",
                           fmt::format("It belongs to commit {}; the model is now at commit {}. "
                                       "Evaluate the run again.",
                                       a.held_out->commit, *a.held_out->newer));
}

void add_clock(Notes& notes, Account const& a)
{
    if (a.clock_factor == 1) return;
    notes.emplace_back(
        "Clock",
        fmt::format("The signal was replayed at {0:g} times real speed. Windows, power and CO₂ "
                    "are on the signal's clock. Training, starts and stops took real time. Each "
                    "real second counts as {0:g} s of the signal: a start of 2 s draws power for "
                    "{1:g} s.",
                    a.clock_factor, 2 * a.clock_factor));
}

void add_unknown_intensity(Notes& notes, energy::Tally const& total, std::string const& no_carbon)
{
    if (!no_carbon.empty() && total.unpowered) notes.emplace_back("CO₂ unknown", no_carbon + ".");
    else if (!no_carbon.empty())
        notes.emplace_back("CO₂ unknown",
                           no_carbon + "." +
                               (total.unknown.value > 0
                                    ? fmt::format(" {} of {} kWh were drawn at unknown intensity.",
                                                  kwh(total.unknown), kwh(total.energy))
                                    : ""));
    else if (total.unknown.value > 0)
        notes.emplace_back(
            "Unknown intensity",
            fmt::format("{} of {} kWh were drawn while no sample held. Their CO₂ "
                        "is not in these figures. They count as not below the threshold.",
                        kwh(total.unknown), kwh(total.energy)));
}

void add_avoided(Notes& notes, energy::Tally const& total)
{
    if (total.avoided.value <= 0) return;
    notes.emplace_back(
        "Avoided emissions",
        fmt::format("Some energy was drawn at a negative marginal intensity, which avoided {} kg "
                    "of CO₂ elsewhere. That is a statement of its own: the figures count this "
                    "energy with 0 g/kWh.",
                    three_digits(total.avoided.value / 1000)));
}

void add_outside_threshold(Notes& notes, energy::Tally const& total)
{
    auto const dirty = total.dirty();
    auto const dirty_carbon = total.known_carbon_dirty();
    if (!dirty || dirty->value <= 0 || !dirty_carbon || total.carbon.value <= 0) return;
    notes.emplace_back(
        "Energy above the threshold",
        fmt::format("{} % of the emissions come from the {} % of energy known to be drawn at or "
                    "above the threshold, e.g. in close delays and drains.",
                    three_digits(100 * ratio(*dirty_carbon, total.carbon)),
                    three_digits(100 * ratio(*dirty, total.energy))));
}

// Names the sites whose rates and powers the always-on scenarios have.
std::string imagined_sites(Account const& a)
{
    std::string text;
    for (auto const& s : a.always_on) {
        if (!s.rate) continue;
        text +=
            fmt::format(" {}: rate and power of {}, {}{}.", s.region, s.as_site, rate_text(*s.rate),
                        s.elsewhere ? " (the reference site, because no site in this region "
                                      "has logged a step)"
                                    : "");
    }
    return text;
}

void add_gaps(Notes& notes, Scenario const& scenario)
{
    auto const& tally = scenario.tally;
    if (tally.whole() && tally.carbon.value <= 0)
        notes.emplace_back("Always on, " + scenario.region,
                           "Its CO₂ is 0. No percentage is given for this region.");
    if (tally.unknown.value <= 0) return;
    notes.emplace_back(
        "Always on, " + scenario.region,
        fmt::format("{} of {} kWh are drawn where no sample holds, so their CO₂ is unknown. {}",
                    kwh(tally.unknown), kwh(tally.energy),
                    tally.whole() ? "That is too little to matter."
                                  : "No percentage is given for this region."));
}

void add_always_on(Notes& notes, Account const& a)
{
    if (a.always_on.empty()) return;
    notes.emplace_back("Always on",
                       fmt::format("{} tokens at one site's rate and training power. Starting, "
                                   "waiting and checkpoints are not included, which favours "
                                   "always-on.{}",
                                   grouped(a.trained().value), imagined_sites(a)));
    for (auto const& site : a.sites)
        if (site.rate && !site.rate->lone)
            notes.emplace_back(
                "Rate of " + site.id.value,
                "Each step of this site ran while another site held devices, so its rate is that "
                "of its steps in joint rounds. Alone, it may be faster; always-on is then too "
                "high.");
    for (auto const& sentence : ends_of_always_on(a))
        notes.emplace_back("Always on, to the signal's end", sentence + ".");
    for (auto const& scenario : a.always_on) add_gaps(notes, scenario);
}

void add_missing_regions(Notes& notes, Account const& a)
{
    if (a.always_on.empty()) return;
    for (auto const& signal : a.signals) {
        auto const found =
            std::any_of(a.always_on.begin(), a.always_on.end(),
                        [&](Scenario const& s) { return s.region == signal.region.value; });
        if (!found)
            notes.emplace_back("Always on, " + signal.region.value,
                               "Not computed: no site in this region has logged a step, and "
                               "neither has the reference site. Set reference_site in the run "
                               "file to a site that has trained.");
    }
}

void add_uncommitted(Notes& notes, RunFiles const& files, Tokens committed)
{
    Tokens logged;
    for (auto const& site : files.sites)
        for (auto const& step : site.metrics) logged += step.tokens;
    if (logged <= committed) return;
    notes.emplace_back(
        "Work that is not in the model",
        fmt::format("The sites trained on {} tokens, of which {} are in the committed model. The "
                    "rest was cut short, refused, or is not decided yet.",
                    grouped(logged.value), grouped(committed.value)));
}

void add_unlogged(Notes& notes, Account const& a)
{
    for (auto const& work : a.unlogged)
        notes.emplace_back(
            "Work without a log",
            fmt::format("The model includes work of {0} that its logs do not show ({1} tokens){2}. "
                        "The energy of this work is not in the bill, and the run's CO₂ is unknown.",
                        work.site.value, grouped(work.tokens.value),
                        work.in_run_file ? "" : ", and the run file does not list this site"));
}

void add_unpublished(Notes& notes, Account const& a)
{
    for (auto const& site : a.sites) {
        if (site.unpublished <= 0) continue;
        notes.emplace_back(
            "Not yet published",
            fmt::format("Logs of {}: {}. {}", site.id.value, publication_text(site),
                        lacks_energy(site, a.clock_factor)
                            ? "The energy of this time is not in the bill, and the run's CO₂ is "
                              "unknown."
                            : "What is missing is not in these figures."));
    }
}

void add_faulty_samples(Notes& notes, RunFiles const& files)
{
    using samples::SampleFault;
    auto const log_of = [&](std::size_t site) {
        return log_name(files.run.sites.at(site).site, journal::Stream::signals);
    };
    auto const which_of = [&](samples::FaultySamples const& faulty) {
        return fmt::format("{}: {} {} samples of {}, from {} to {}, ", log_of(faulty.text),
                           faulty.count, to_string(faulty.type), printable(faulty.region.value),
                           format_time(faulty.from), format_time(faulty.to));
    };
    for (auto const& one : files.wrong_samples.unconfirmed)
        notes.emplace_back("Samples without an answer",
                           which_of(one) +
                               "have no stored answer of their provider. Nothing "
                               "confirms their values.");
    for (auto const& faulty : files.wrong_samples.faulty) {
        auto const which = which_of(faulty);
        if (faulty.fault == SampleFault::inserted)
            notes.emplace_back("Inserted samples",
                               which +
                                   "were not written after the lines before them. They do not "
                                   "count.");
        else if (faulty.fault == SampleFault::revised)
            notes.emplace_back("Revised samples",
                               which +
                                   "have another value in a later line. The provider computed "
                                   "it later. The first value counts.");
        else
            notes.emplace_back(
                "Contradicting samples",
                which + "are contradicted by " +
                    (faulty.text == faulty.other
                         ? "other parts of the same file, or by the provider's answer in it"
                         : log_of(faulty.other)) +
                    ". The intensity of these times is unknown.");
    }
}

void add_unlike_trace(Notes& notes, RunFiles const& files)
{
    if (auto const& sha256 = files.wrong_samples.uncompared; !sha256.empty())
        notes.emplace_back("Trace not compared",
                           fmt::format("The bill has the samples that the pollers logged. "
                                       "This report has not compared them with the trace that the "
                                       "pollers replayed (SHA-256 {}). With --trace FILE, it does.",
                                       sha256));
    for (auto const& unlike : files.wrong_samples.unlike_trace)
        notes.emplace_back(
            "Samples differ from the trace",
            fmt::format(
                "{} samples of {} in the pollers' signals.jsonl, from {} to {}, have another "
                "value than {}, which the pollers replayed. The bill has the values of the "
                "trace.",
                grouped(unlike.count), printable(unlike.region.value), format_time(unlike.from),
                format_time(unlike.to), files.trace_name));
}

void add_unfixed(Notes& notes, Account const& a)
{
    bool const has_devices =
        std::ranges::any_of(a.sites, [](SiteAccount const& site) { return !site.states.empty(); });
    if (!a.fixed || !has_devices || has_fixed_lines(a)) return;
    notes.emplace_back(
        "Nothing is fixed",
        "No commit names a line of the sites' logs, from the run's begin to its end. "
        "Whoever can write these files can change the whole bill. Only a noted run "
        "digest shows it (--expect).");
}

// Says whose records lack energy, or contradict each other. The text is empty if none does.
std::string contradiction_of(Account const& a)
{
    for (auto const& doubt : a.doubts) {
        if (doubt.bound != energy::Bound::at_least && doubt.bound != energy::Bound::uncertain)
            continue;
        auto const whose = doubt.site ? a.sites[*doubt.site].id.value : std::string("the run");
        return "records of " + whose +
               (doubt.bound == energy::Bound::at_least ? " lack energy" : " contradict each other");
    }
    return "";
}

// Says why the energy of some work is not recorded. The text is empty if all of it is.
std::string no_log(Account const& a)
{
    std::string unpublished;
    for (auto const& site : a.sites)
        if (lacks_energy(site, a.clock_factor))
            unpublished += (unpublished.empty() ? "" : ", ") + site.id.value;
    if (a.unlogged.empty() && !unpublished.empty())
        return "the logs of " + unpublished + " are not yet published to the end";
    if (auto text = contradiction_of(a); !text.empty()) return text;
    std::string text;
    for (auto const& work : a.unlogged) {
        text += (text.empty() ? "there is no log of the work of " : ", ") + work.site.value;
        if (!work.in_run_file) text += " (" + work.site.value + " is not in the run file)";
    }
    return text;
}

// Names the regions that have sites, but no value at all.
std::string blind_regions(Account const& a)
{
    std::set<RegionId> regions;
    auto const is_blind = [&](RegionId const& region) {
        auto const* signal = find_region(a.signals, region);
        return signal == nullptr ||
               std::ranges::none_of(signal->points, [](auto const& p) { return !!p.intensity; });
    };
    for (auto const& site : a.sites)
        for (auto const& then : site.settings)
            if (site.bill.total.blind && is_blind(then.region)) regions.insert(then.region);
    std::string text;
    for (auto const& region : regions) text += (text.empty() ? "" : ", ") + region.value;
    return text;
}

// Says why the run's CO2 is unknown. The text is empty if it is known.
std::string no_carbon(RunFiles const& files, Account const& a)
{
    if (auto why = no_log(a); !why.empty()) return why;
    std::string unpowered;
    for (auto const& site : a.sites)
        if (site.bill.total.unpowered) unpowered += (unpowered.empty() ? "" : ", ") + site.id.value;
    if (!unpowered.empty()) return "the power of " + unpowered + " is unknown";
    if (files.trace.empty()) return no_signal;
    if (auto const blind = blind_regions(a); !blind.empty())
        return files.trace_name + " has no value for " + blind;
    return total_of(a).known() ? ""
                               : files.trace_name + " has no value while the sites held devices";
}

// Says why a run cannot be compared with always-on in one region. The text is empty if it can.
std::string no_ratio(Scenario const& scenario)
{
    auto const& tally = scenario.tally;
    auto const name = "always-on in " + scenario.region;
    if (scenario.observed < least_observed)
        return fmt::format("only {} % of {} is observed", three_digits(100 * scenario.observed),
                           name);
    if (!tally.whole()) return name + " has no whole CO2, because samples are missing";
    return tally.carbon.value > 0 ? "" : name + " emits no CO2";
}

// Says why no region has a percentage of always-on. The text is empty if one has.
std::string no_ratio(Account const& a)
{
    if (auto why = no_log(a); !why.empty()) return why;
    auto const total = total_of(a);
    if (total.unpowered) return "the power of a site is unknown";
    if (total.bound == energy::Bound::at_most) return "the run's energy is an upper bound";
    if (!total.whole())
        return fmt::format("the intensity of {} % of the run's energy is unknown",
                           three_digits(100 * total.unknown.value / total.energy.value));
    std::string text;
    for (auto const& scenario : a.always_on) {
        auto const why = no_ratio(scenario);
        if (why.empty()) return "";
        text += (text.empty() ? "" : "; ") + why;
    }
    return text;
}

std::map<std::string, std::string> missing_of(RunFiles const& files, Account const& a,
                                              Gaps const& gaps)
{
    std::map<std::string, std::string> missing{
        {"transfer",
         "Upload and download are not logged separately: both are in the round exchange."},
        {"bytes", "transfers of payloads are not metered"}};
    auto const add = [&](char const* key, std::string const& why) {
        if (!why.empty()) missing[key] = why;
    };
    add("carbon", no_carbon(files, a));
    add("always_on", gaps.always_on);
    add("held_out", gaps.held_out);
    add("ratio", no_ratio(a));
    return missing;
}

}  // namespace

std::string grouped(std::int64_t value)
{
    auto const digits = std::to_string(value);
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        bool const boundary = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
        if (boundary) out += ',';
        out += digits[i];
    }
    return out;
}

void explain(Account& account, RunFiles const& files, Timeline const& timeline, Gaps const& gaps)
{
    account.provenance = provenance_of(account);
    account.facts = facts_of(files, timeline, account);
    account.warnings = account.stuck;
    std::ranges::move(warnings_of(files, timeline), std::back_inserter(account.warnings));
    account.missing = missing_of(files, account, gaps);
    auto& notes = account.notes;
    auto const carbon = account.missing.find("carbon");
    add_held_out(notes, account, gaps.held_out);
    add_clock(notes, account);
    add_unknown_intensity(notes, total_of(account),
                          carbon != account.missing.end() ? carbon->second : "");
    add_avoided(notes, total_of(account));
    add_outside_threshold(notes, total_of(account));
    add_always_on(notes, account);
    add_missing_regions(notes, account);
    add_uncommitted(notes, files, account.tokens);
    add_unlogged(notes, account);
    add_unpublished(notes, account);
    add_unfixed(notes, account);
    for (auto const& doubt : account.doubts) notes.emplace_back(doubt.title, doubt.text);
    for (auto const& region : files.regions_from_trace)
        notes.emplace_back("Region without a site",
                           fmt::format("The intensity of {} comes from the trace that the report "
                                       "was given, not from the run's own samples.",
                                       region.value));
    add_faulty_samples(notes, files);
    add_unlike_trace(notes, files);
    if (files.impossible_samples > 0)
        notes.emplace_back("Impossible samples",
                           fmt::format("{} lines of signals.jsonl lie more than a day before or "
                                       "after the events of the pollers, and are left out.",
                                       files.impossible_samples));
    for (auto const& [name, lines] : files.broken_files)
        notes.emplace_back(
            "Broken lines",
            fmt::format("{}: {} lines are cut short or damaged, and left out: after {}, before {}.",
                        name, lines.count, lines.after ? utc_text(*lines.after) : "its begin",
                        lines.before ? utc_text(*lines.before) : "its end"));
    std::ranges::move(hints_of(files, timeline), std::back_inserter(notes));
    for (auto const& warning : account.warnings) notes.emplace_back("Warning", warning + ".");
}

}  // namespace curtail::account
