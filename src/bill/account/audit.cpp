// SPDX-License-Identifier: Apache-2.0
#include "bill/account/audit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bill/account/figures.hpp"
#include "bill/account/meters.hpp"

namespace curtail::account {
namespace {

std::optional<Grams> embodied_of(Account const& a)
{
    Grams sum;
    for (auto const& site : a.sites) {
        if (!site.embodied) return std::nullopt;
        sum += *site.embodied;
    }
    return sum;
}

void add_power(std::vector<AuditLine>& lines, Account const& a)
{
    std::vector<std::pair<std::string, std::string>> sites_by_text;
    for (auto const& site : a.sites) {
        auto const text = power_text(site);
        auto const same = std::find_if(sites_by_text.begin(), sites_by_text.end(),
                                       [&](auto const& group) { return group.first == text; });
        if (same == sites_by_text.end()) sites_by_text.emplace_back(text, site.id.value);
        else same->second += ", " + site.id.value;
    }
    for (auto const& [text, sites] : sites_by_text)
        lines.push_back({"power", "Power of " + sites, text});
}

// What Slurm says about the energy of a site's jobs, beside the model.
std::string slurm_energy_text(SlurmEnergy const& slurm)
{
    if (slurm.metered == 0) return fmt::format("no energy of its {} jobs is available", slurm.jobs);
    return fmt::format(
        "{} kWh in {:.0f} s of {} jobs (of {}), {} kW on average (the model has {} kWh), without "
        "the building's overhead; {}; the bill does not use it",
        three_digits(slurm.joules / 3.6e6), slurm.seconds, slurm.metered, slurm.jobs,
        three_digits(slurm.joules / std::max(1.0, slurm.seconds) / 1000),
        three_digits(slurm.modelled.value / 1000),
        slurm.has_whole_nodes ? "the jobs had whole nodes"
                              : "it includes other jobs on these nodes, unless the jobs had whole "
                                "nodes");
}

// What the sites' meters say beside the model.
std::string meters_text(Account const& a)
{
    std::string text;
    for (auto const& site : a.sites) {
        if (site.slurm_energy)
            text += fmt::format("{}{}, by Slurm's accounting: {}", text.empty() ? "" : "; ",
                                site.id.value, slurm_energy_text(*site.slurm_energy));
        if (!site.metered) continue;
        auto const& m = *site.metered;
        text += fmt::format(
            "{}{}: {} kWh in {:.0f} s of training, {} kW on average (the model has {} kW); {}",
            text.empty() ? "" : "; ", site.id.value, three_digits(m.mean.value * m.seconds / 3.6e6),
            m.seconds, three_digits(m.mean.value / 1000),
            site.power ? three_digits(site.power->training.value / 1000) : "no",
            m.is_used ? (m.covers_node ? "the bill uses it, it covers the node"
                                       : "the bill uses it, with the rest of the node")
            : m.share < MeteredTraining::least_share ? "too few steps are metered"
                                                     : "the bill does not use it");
    }
    return text;
}

std::string signal_text(Account const& a)
{
    if (a.signal_provider.empty()) return "no signal";
    auto text = a.signal_kind + " carbon intensity; " + a.signal_provider;
    if (a.estimated_samples == 0) return text;
    return fmt::format("{}; the provider marked {} sample{} as estimated", text,
                       a.estimated_samples, a.estimated_samples == 1 ? "" : "s");
}

// Says up to when the sites have published their logs. The text is empty if no site is remote.
std::string logs_text(Account const& a)
{
    std::string text;
    bool has_remote = false;
    for (auto const& site : a.sites) {
        auto const published = publication_text(site);
        has_remote = has_remote || site.publication.is_remote;
        if (published.empty()) continue;
        text += (text.empty() ? "" : "; ") + site.id.value + ": " + published;
    }
    return has_remote ? text : "";
}

// Says which sites' jobs the cluster's accounting has confirmed.
std::string accounting_text(Account const& a)
{
    std::string text;
    for (auto const& site : a.sites)
        text += (text.empty() ? "" : "; ") + site.id.value + ": " +
                (site.accounting.empty() ? "not checked" : site.accounting);
    return text;
}

std::string text_of(Tail const& tail)
{
    if (tail.unpowered)
        return fmt::format("{:.0f} s, an unknown amount of energy and CO2", tail.seconds);
    return fmt::format("{:.0f} s, {} kWh and {} kg CO2", tail.seconds,
                       three_digits(tail.energy.value / 1000),
                       three_digits(tail.carbon.value / 1000));
}

std::string percent(std::optional<double> share)
{
    return share ? three_digits(100 * *share) + " %" : "an unknown share";
}

// The figures of the headline that a person quotes, in one sentence.
std::string figures_text(Account const& a)
{
    auto const bill = total_bill(a);
    auto const carbon = bill.total.known_carbon();
    auto text = fmt::format(
        "{} kWh, {}, {} of the energy below the threshold, {} inside windows, {} goodput",
        three_digits(bill.total.energy.value / 1000),
        carbon ? three_digits(carbon->value / 1000) + " kg CO2" : "an unknown amount of CO2",
        percent(bill.total.clean_share()), percent(bill.inside_share()), percent(goodput(a)));
    if (a.loss)
        text += ", training perplexity " + three_digits(a.loss->finals.front().best_perplexity);
    for (auto const& scenario : a.always_on)
        if (auto const ratio = carbon_ratio(bill.total, a, scenario))
            text += fmt::format(", {} of always-on in {}", percent(ratio), scenario.region);
    return text;
}

// The end of the last sample of a region, in seconds after `zero`.
double samples_end(Account const& a, std::string const& region, Time zero)
{
    for (auto const& series : a.signals)
        if (series.region.value == region && !series.points.empty()) {
            auto const& last = series.points.back();
            return FractionalSeconds(last.time + last.period.value_or(Millis{0}) - zero).count();
        }
    return 0;
}

// Says how much of always-on rests on samples that no commit fixes: whoever appends samples changes
// it, and the percentages.
std::string unfixed_always_on(Account const& a)
{
    std::string text;
    for (auto const& scenario : a.always_on) {
        auto const totals = a.always_on_cumulative.find(scenario.region);
        if (totals == a.always_on_cumulative.end() || !scenario.wall_s) continue;
        double const begin = totals->second.from_s;
        double const end = begin + *scenario.wall_s * scenario.observed;
        double const seconds =
            end - std::max(begin, samples_end(*a.fixed, scenario.region, a.time_zero));
        if (seconds >= 1)
            text +=
                fmt::format("; {:.0f} s of always-on in {} rest on samples that no commit fixes",
                            seconds, scenario.region);
    }
    return text;
}

// Says which part of the bill no commit fixes.
std::string tail_text(Account const& a)
{
    if (!a.fixed) return "";
    std::string text;
    for (auto const& site : a.sites)
        text += (text.empty() ? "" : "; ") + site.id.value + ": " + text_of(*site.tail);
    text += "; in sum " + text_of(tail_of(a)) + " depend on lines that no commit fixes";
    text += unfixed_always_on(a);
    if (!has_fixed_lines(a)) return text + ": that is the whole bill";
    return text + "; from the other lines alone: " + figures_text(*a.fixed);
}

std::string average_text(Account const& a)
{
    if (!a.average) return "not known (curtail-report --average-trace FILE adds it)";
    auto const average = a.average->mean_intensity();
    auto const carbon = a.average->known_carbon();
    if (a.average->unpowered) return "not known: the power of a site is unknown";
    if (!a.average->known() && a.average->bound != energy::Bound::exact)
        return "not known: the run's energy is not known";
    if (a.average->blind) return "not known: a region of a site has no average sample";
    if (!average || !carbon) return "no average sample holds while the sites draw power";
    auto const uncovered = 100 * a.average->unknown.value / a.average->energy.value;
    auto const marginal = total_of(a).mean_intensity();
    return fmt::format(
        "{} g/kWh at average intensity beside {} at marginal intensity; {}{} kg CO2, "
        "location-based (Scope 2){}",
        three_digits(average->value),
        marginal ? three_digits(marginal->value) + " g/kWh" : "an unknown one",
        energy::words(a.average->carbon_bound()), three_digits(carbon->value / 1000),
        a.average->unknown.value > 0
            ? fmt::format("; {} % of the energy has no average sample", three_digits(uncovered))
            : "");
}

// Says what a second bill has in place of this one.
std::string recalculated_text(Account const& a)
{
    auto const text_of = [](Account const& account) {
        auto const total = total_of(account);
        auto const carbon = total.known_carbon();
        return fmt::format("{} kWh and {}", three_digits(total.energy.value / 1000),
                           carbon ? three_digits(carbon->value / 1000) + " kg CO2"
                                  : std::string("an unknown amount of CO2"));
    };
    auto const& what = *a.recalculation;
    auto text = fmt::format("\"{}\" is no record of the run: {} in place of {}", what.name,
                            text_of(*a.recalculated), text_of(a));
    if (!what.trace.empty())
        text += fmt::format("; {} of {} samples have another value in {}", what.differing,
                            what.samples, what.trace);
    return text;
}

// Says which gases the signal's values count.
std::string gases_text(Account const& a)
{
    bool const is_watttime = a.signal_provider.find("watttime") != std::string::npos;
    return is_watttime ? "CO2 only" : "CO2 only, unless the signal counts other gases";
}

std::string per_tokens_text(Account const& a)
{
    auto const grams = grams_per_million_tokens(a);
    if (!grams) return "unknown, because CO2 is unknown or the model includes no tokens";
    auto const sci = sci_of(a);
    return fmt::format("{}{} g CO2 of marginal emissions per million tokens {}{}",
                       energy::words(total_of(a).carbon_bound()), three_digits(*grams),
                       a.inherited > Tokens{} ? "that this run has trained" : "in the model",
                       sci ? "" : "; this is no SCI, because " + sci.error());
}

std::string sci_text(Account const& a, Sci const& sci)
{
    bool const has_idle = std::ranges::any_of(a.sites, [](SiteAccount const& site) {
        return std::ranges::count(site.settings, energy::BetweenJobs::idle,
                                  &SettingsThen::between_jobs) > 0;
    });
    return fmt::format(
        "{} g CO2 per million tokens, of which {} g operational and {} g embodied in total; "
        "boundary: the devices of the training jobs with the building's PUE{}, and their embodied "
        "carbon; without storage, networks, login nodes and evaluation, which SCI 1.1 includes if "
        "they contribute significantly; {}",
        three_digits(sci.g_per_million_tokens), three_digits(sci.operational.value),
        three_digits(sci.embodied.value), has_idle ? ", idle nodes between jobs" : "",
        gases_text(a));
}

}  // namespace

std::optional<double> grams_per_million_tokens(Account const& a)
{
    auto const carbon = total_of(a).known_carbon();
    if (!carbon || a.trained() <= Tokens{}) return std::nullopt;
    return carbon->value / (static_cast<double>(a.trained()) / 1e6);
}

tl::expected<Sci, std::string> sci_of(Account const& a)
{
    auto const total = total_of(a);
    if (!total.whole()) return tl::unexpected(std::string("its CO2 is not whole"));
    auto const operational = grams_per_million_tokens(a);
    if (!operational) return tl::unexpected(std::string("the model includes no tokens"));
    bool const is_unknown = std::ranges::any_of(a.sites, [](SiteAccount const& site) {
        return site.if_idle.energy > WattHours{} ||
               (held_s(site) > 0 && site.between_jobs == energy::BetweenJobs::unknown);
    });
    if (is_unknown)
        return tl::unexpected(std::string("it is unknown what some nodes do between jobs"));
    auto const embodied = embodied_of(a);
    if (!embodied)
        return tl::unexpected(std::string("not each site states embodied_gco2_per_hour"));
    double const millions = static_cast<double>(a.trained()) / 1e6;
    return Sci{*operational + embodied->value / millions, total.carbon, *embodied};
}

std::vector<AuditLine> audit_of(Account const& a)
{
    std::vector<AuditLine> lines;
    add_power(lines, a);
    if (auto const meters = meters_text(a); !meters.empty())
        lines.push_back({"meters", "Meters", meters});
    lines.push_back({"signal", "Signal", signal_text(a)});
    lines.push_back({"rule", "Accounting rule", rule_text()});
    lines.push_back(
        {"scope", "Scope",
         "Emissions are marginal emissions: they estimate what the run caused. They are no "
         "inventory of the GHG Protocol, which needs average intensity or contracts"});
    if (auto const logs = logs_text(a); !logs.empty()) lines.push_back({"logs", "Logs", logs});
    if (auto const tail = tail_text(a); !tail.empty()) lines.push_back({"tail", "Tail", tail});
    lines.push_back({"accounting", "Accounting of Slurm", accounting_text(a)});
    lines.push_back({"average", "Average intensity", average_text(a)});
    lines.push_back({"per_tokens", "Per million tokens", per_tokens_text(a)});
    if (auto const sci = sci_of(a)) lines.push_back({"sci", "SCI 1.1", sci_text(a, *sci)});
    if (a.recalculated) lines.push_back({"recalculated", "Recalculated", recalculated_text(a)});
    if (a.run_digest) lines.push_back({"digest", "Run digest", a.run_digest->hex()});
    return lines;
}

}  // namespace curtail::account
