// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bill/account/account.hpp"

// Figures of a report: numbers and sentences that follow from an account. Seconds are seconds on
// the signal's clock (see account.hpp).
namespace curtail::account {

/// Describes an accounting rule in one sentence without a full stop. The sentence begins with the
/// rule's name, and names the other rule too.
[[nodiscard]] std::string rule_text();

/// Describes a rate: `7314 tokens/s alone`, or `4820 tokens/s in joint rounds`.
[[nodiscard]] std::string rate_text(SiteRate const& rate);

/// Returns the energy and carbon of all sites.
[[nodiscard]] energy::Tally total_of(Account const& account);
/// Returns the sum of all sites' bills, without their provenance.
[[nodiscard]] energy::Bill total_bill(Account const& account);
/// Returns the seconds that sites spent in the state `training`, summed over all sites.
[[nodiscard]] double training_s(Account const& account);
/// Returns the seconds in which sites had devices or waited for them, summed over all sites.
[[nodiscard]] double allocated_s(Account const& account);
/// Returns the seconds in which a site had devices, on the signal's clock.
[[nodiscard]] double held_s(SiteAccount const& site);
/// Returns a time for people: `2026-01-11 10:00:00 UTC`.
[[nodiscard]] std::string utc_text(Time time);
/// Returns whether a site's bill lacks more than energy::Tally::most_unknown of its time with
/// devices, because the site has not yet published the end of its logs.
[[nodiscard]] bool lacks_energy(SiteAccount const& site, double clock_factor);
/// Returns, for people, up to when a site has published its logs, and what is missing. Returns an
/// empty text if the logs are those of this machine.
[[nodiscard]] std::string publication_text(SiteAccount const& site);
/// Returns the fraction of a site's allocated time in which it trained for the committed model.
/// This time is the time in the state `training`, multiplied by the fraction of the trained tokens
/// that the model includes. Returns an empty optional if the site has no allocated time, or if the
/// model includes work of the site and the site logged no step.
[[nodiscard]] std::optional<double> goodput(SiteAccount const& site);
/// Returns the same fraction for all sites together.
[[nodiscard]] std::optional<double> goodput(Account const& account);

/// Returns the seconds that a site spent in the state `state` (see StateSpan), or in any state if
/// `state` is empty.
[[nodiscard]] double seconds_in(SiteAccount const& site, std::string const& state = {});
/// An always-on scenario of which less is observed has no percentage.
inline constexpr double least_observed = 0.9;
/// Returns the CO2 of `part`, which may be a part of the run, divided by that of always-on training
/// over the tokens that both have: the CO2 of `part` counts in proportion to the tokens of `other`.
/// Returns an empty optional unless both are whole, `other` emits CO2, and enough of it is
/// observed.
[[nodiscard]] std::optional<double> carbon_ratio(energy::Tally const& part, Account const& account,
                                                 Scenario const& other);
/// Returns the total if all nodes stayed switched on between jobs for which nobody has said whether
/// they did. Returns an empty optional if there are none.
[[nodiscard]] std::optional<energy::Tally> total_if_idle(Account const& account);
/// Returns the sum of the tails of all sites.
[[nodiscard]] Tail tail_of(Account const& account);
/// Returns whether a commit fixes any line from which the energy of the run follows.
[[nodiscard]] bool has_fixed_lines(Account const& account);
/// What a setting is, and the time from which it applies; without a time for the first one.
struct Applied {
    std::string from;
    std::string what;
};
/// Formats a setting over time: `at first 1, from 2026-03-01T01:00:00Z on 2`, or its only value.
/// Only counts the changes if there are many. Equal neighbours count as one.
[[nodiscard]] std::string over_time(std::vector<Applied> const& values);
/// The same for values that are sentences.
[[nodiscard]] std::string sentences_over_time(std::vector<Applied> const& values);
/// Formats the thresholds of a site over time, in g/kWh.
[[nodiscard]] std::string thresholds_text(SiteAccount const& site);
/// Returns whether the threshold of a site has changed.
[[nodiscard]] bool has_changed_threshold(SiteAccount const& site);
/// Says how a site's power is known, and what its nodes do between jobs.
[[nodiscard]] std::string power_text(SiteAccount const& site);
/// An amount with as many digits as a model with two power levels justifies: three.
struct Rounded {
    double value{};
    int decimals{};
};
[[nodiscard]] Rounded to_three_digits(double value);
/// Formats an amount with three significant digits.
[[nodiscard]] std::string three_digits(double value);
/// Returns the run itself as a scenario.
[[nodiscard]] Scenario run_scenario(Account const& account);
/// Returns the scenarios of `Account::always_on`, in order of increasing carbon.
[[nodiscard]] std::vector<Scenario> always_on_by_carbon(Account const& account);
/// Says how much of each always-on scenario is observed, if not all. Regions with the same numbers
/// share one sentence.
[[nodiscard]] std::vector<std::string> ends_of_always_on(Account const& account);
/// Returns the spread of a latency over `windows`. `latency` is `&WindowAccount::start` or
/// `&WindowAccount::stop`. Counts only the latencies whose `Latency::others_trained` equals
/// `others_trained`. Returns an empty optional if there are none.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<WindowAccount> const& windows,
                                              std::optional<Latency> WindowAccount::*latency,
                                              bool others_trained);
/// Returns the minimum, median and maximum of `values`, or an empty optional if there are no
/// values. The median of an even number of values is the mean of the middle two.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<double> values);

}  // namespace curtail::account
