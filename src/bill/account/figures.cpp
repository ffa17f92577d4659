// SPDX-License-Identifier: Apache-2.0
#include "bill/account/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bill/account/text.hpp"

namespace curtail::account {
namespace {

// Seconds of training for the committed model. Empty if the site logged no step although the model
// has work of the site.
std::optional<double> useful_s(SiteAccount const& site)
{
    double const training = seconds_in(site, energy::name(energy::PowerState::training));
    if (!site.trained_tokens) return training;
    if (*site.trained_tokens <= Tokens{})
        return site.tokens > Tokens{} ? std::nullopt : std::optional(0.0);
    return training * std::min(1.0, ratio(site.tokens, *site.trained_tokens));
}

// The words between the values of a setting.
struct Joints {
    char const* first;
    char const* from;
    char const* on;
    char const* from_after_count;
};

std::string over_time(std::vector<Applied> const& values, Joints const& joints)
{
    constexpr std::size_t most = 4;
    std::vector<Applied> different;
    for (auto const& value : values)
        if (different.empty() || different.back().what != value.what) different.push_back(value);
    if (different.size() == 1) return different.front().what;
    auto const& last = different.back();
    if (different.size() > most)
        return fmt::format("changed {} times, as the notes say{}{}{}{}", different.size() - 1,
                           joints.from_after_count, last.from, joints.on, last.what);
    std::string text;
    for (auto const& [from, what] : different)
        text += text.empty() ? joints.first + what : joints.from + from + joints.on + what;
    return text;
}

template <class Text>
std::vector<Applied> applied(SiteAccount const& site, Text const& text_of)
{
    std::vector<Applied> out;
    for (auto const& then : site.settings)
        out.push_back({out.empty() ? "" : format_time(then.from), text_of(then)});
    return out;
}

std::string power_then(SettingsThen const& then)
{
    if (!then.power) return "power unknown";
    auto pue = fmt::format("{:g}", then.power->pue);
    for (auto const& change : then.later_pues)
        pue += fmt::format(", {:g} from {} on", change.pue, format_time(change.from));
    constexpr char const* between[] = {"unknown what the nodes do between jobs",
                                       "nodes released between jobs", "nodes idle between jobs"};
    return fmt::format(
        "{}; {:g} kW idle, {:g} kW training, PUE {}; {}; {}",
        then.power_source.empty() ? "source not stated" : then.power_source,
        then.power->idle.value / 1000, then.power->training.value / 1000, pue,
        then.is_metered ? "training metered, the rest modelled" : "modelled, not metered",
        between[static_cast<int>(then.between_jobs)]);
}

}  // namespace

std::string rule_text()
{
    return std::string(energy::accounting_rule) +
           ": a sample counts until the next one, at most for the longer of its period and the "
           "site's signal_max_age_s; the technical report uses the rule linear";
}

std::string rate_text(SiteRate const& rate)
{
    return fmt::format("{:.4g} tokens/s {}", rate.tokens_per_s,
                       rate.lone ? "alone" : "in joint rounds");
}

energy::Tally total_of(Account const& account) { return total_bill(account).total; }

Rounded to_three_digits(double value)
{
    if (value == 0 || !std::isfinite(value)) return {value, 0};
    int const digits = 2 - static_cast<int>(std::floor(std::log10(std::abs(value))));
    double const scale = std::pow(10.0, digits);
    double const units = std::round(value * scale);
    // 99.96 becomes 100, not 100.0.
    int const decimals = std::abs(units) >= 1000 ? digits - 1 : digits;
    return {units / scale, std::max(0, decimals)};
}

std::string three_digits(double value)
{
    auto const rounded = to_three_digits(value);
    return fmt::format("{:.{}f}", rounded.value, rounded.decimals);
}

std::optional<energy::Tally> total_if_idle(Account const& account)
{
    auto total = total_of(account);
    bool is_unknown = false;
    for (auto const& site : account.sites) {
        is_unknown = is_unknown || site.if_idle.energy.value > 0;
        total += site.if_idle;
    }
    return is_unknown ? std::optional(total) : std::nullopt;
}

Tail tail_of(Account const& account)
{
    Tail sum;
    for (auto const& site : account.sites) {
        if (!site.tail) continue;
        sum.seconds += site.tail->seconds;
        sum.energy += site.tail->energy;
        sum.carbon += site.tail->carbon;
        sum.unpowered = sum.unpowered || site.tail->unpowered;
    }
    return sum;
}

bool has_fixed_lines(Account const& account)
{
    return account.fixed && std::ranges::any_of(account.fixed->sites, [](auto const& site) {
               return !site.states.empty();
           });
}

energy::Bill total_bill(Account const& account)
{
    energy::Bill sum;
    for (auto const& site : account.sites) {
        for (auto const& [state, tally] : site.bill.by_state) sum.by_state[state] += tally;
        sum.total += site.bill.total;
        sum.inside_windows += site.bill.inside_windows;
    }
    if (!account.unlogged.empty()) sum.total.bound = sum.total.bound | energy::Bound::at_least;
    return sum;
}

std::string over_time(std::vector<Applied> const& values)
{
    return over_time(values, {"at first ", ", from ", " on ", "; from "});
}

std::string sentences_over_time(std::vector<Applied> const& values)
{
    return over_time(values, {"at first: ", ". From ", " on: ", ". From "});
}

std::string thresholds_text(SiteAccount const& site)
{
    if (site.settings.empty()) return fmt::format("{:g}", site.open_below.value);
    return over_time(applied(
        site, [](SettingsThen const& then) { return fmt::format("{:g}", then.open_below.value); }));
}

bool has_changed_threshold(SiteAccount const& site)
{
    return std::ranges::any_of(site.settings, [&](SettingsThen const& then) {
        return then.open_below != site.open_below;
    });
}

std::string power_text(SiteAccount const& site)
{
    bool const has_power =
        std::ranges::any_of(site.settings, [](auto const& then) { return then.power.has_value(); });
    if (!has_power) return "power unknown: hours and tokens only";
    return sentences_over_time(applied(site, &power_then));
}

double training_s(Account const& account)
{
    double sum = 0;
    for (auto const& site : account.sites) sum += seconds_in(site, "training");
    return sum;
}

double allocated_s(Account const& account)
{
    double sum = 0;
    for (auto const& site : account.sites) sum += seconds_in(site);
    return sum;
}

double held_s(SiteAccount const& site) { return seconds_in(site) - seconds_in(site, "provision"); }

std::string utc_text(Time time)
{
    auto const text = format_time(std::chrono::floor<Seconds>(time));
    return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 8));
}

bool lacks_energy(SiteAccount const& site, double clock_factor)
{
    auto const missing = clock_factor * site.unpublished;
    return missing > energy::Tally::most_unknown * (held_s(site) + missing);
}

std::string publication_text(SiteAccount const& site)
{
    auto const& publication = site.publication;
    if (publication.is_missing) return "nothing is published yet";
    if (!publication.is_remote) return "";
    std::string text = "nothing readable is published";
    if (publication.until && site.unpublished > 0)
        text = fmt::format(
            "not yet published after {} (then {} with devices or idle nodes)",
            utc_text(*publication.until),
            format_duration(std::chrono::round<Millis>(FractionalSeconds(site.unpublished))));
    else if (publication.until) text = "published until " + utc_text(*publication.until);
    for (auto const& problem : publication.problems) text += "; damaged: " + problem;
    return text;
}

std::optional<double> goodput(SiteAccount const& site)
{
    double const allocated = seconds_in(site);
    auto const useful = useful_s(site);
    return allocated > 0 && useful ? std::optional(*useful / allocated) : std::nullopt;
}

std::optional<double> goodput(Account const& account)
{
    double useful = 0;
    for (auto const& site : account.sites) {
        auto const part = useful_s(site);
        if (!part) return std::nullopt;
        useful += *part;
    }
    double const allocated = allocated_s(account);
    return allocated > 0 ? std::optional(useful / allocated) : std::nullopt;
}

double seconds_in(SiteAccount const& site, std::string const& name)
{
    double sum = 0;
    for (auto const& state : site.states)
        if (name.empty() || state.state == name) sum += state.when.to_s - state.when.from_s;
    return sum;
}

std::optional<double> carbon_ratio(energy::Tally const& part, Account const& account,
                                   Scenario const& other)
{
    auto const& baseline = other.tally;
    if (!part.whole() || !baseline.whole() || baseline.carbon.value <= 0) return std::nullopt;
    if (other.observed < least_observed || account.trained() <= Tokens{}) return std::nullopt;
    return ratio(part.carbon, baseline.carbon) * ratio(other.tokens, account.trained());
}

Scenario run_scenario(Account const& account)
{
    Scenario run;
    run.id = "run";
    run.label = "This run";
    run.sites = account.sites.size();
    run.wall_s = account.last_step_s;
    run.step = account.step;
    run.tally = total_of(account);
    run.tokens = account.trained();
    if (account.held_out) run.held_out_perplexity = std::exp(account.held_out->loss);
    if (!account.loss) return run;
    run.tail = account.loss->finals.front();
    run.perplexity = run.tail->best_perplexity;
    return run;
}

std::vector<Scenario> always_on_by_carbon(Account const& account)
{
    auto sorted = account.always_on;
    std::stable_sort(sorted.begin(), sorted.end(), [](Scenario const& a, Scenario const& b) {
        return a.tally.carbon < b.tally.carbon;
    });
    return sorted;
}

std::vector<std::string> ends_of_always_on(Account const& account)
{
    std::vector<std::pair<std::string, std::string>> regions_by_text;
    for (auto const& s : account.always_on) {
        if (s.observed >= 1) continue;
        auto const text = fmt::format(
            "always-on ends with the observed signal, after {} % of its time and {} of {} tokens{}",
            three_digits(100 * s.observed), grouped(s.tokens.value),
            grouped(account.trained().value),
            s.observed < least_observed ? "; no percentage is given" : "");
        auto const same = std::find_if(regions_by_text.begin(), regions_by_text.end(),
                                       [&](auto const& r) { return r.first == text; });
        if (same == regions_by_text.end()) regions_by_text.emplace_back(text, s.region);
        else same->second += ", " + s.region;
    }
    std::vector<std::string> out;
    out.reserve(regions_by_text.size());
    for (auto const& [text, regions] : regions_by_text) out.push_back(regions + ": " + text);
    return out;
}

std::optional<Spread> spread_of(std::vector<WindowAccount> const& windows,
                                std::optional<Latency> WindowAccount::*latency, bool others_trained)
{
    std::vector<double> seconds;
    for (auto const& w : windows)
        if (auto const& l = w.*latency; l && l->others_trained == others_trained)
            seconds.push_back(l->seconds);
    return spread_of(std::move(seconds));
}

std::optional<Spread> spread_of(std::vector<double> values)
{
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    auto const n = values.size();
    return Spread{n, values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back()};
}

}  // namespace curtail::account
