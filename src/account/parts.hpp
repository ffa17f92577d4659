// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/timeline.hpp"

/// The parts of an account. Each function computes one of them from the files and from the parts
/// that it names. Pure.
namespace curtail::account {

/// What a site contributed to the committed model.
struct SiteWork {
    std::int64_t tokens{};
    std::int64_t joint_rounds{};
    std::int64_t lone_rounds{};
};
struct Work {
    Commits commits;
    std::int64_t tokens{};  ///< in the committed model
    std::vector<SiteWork> sites;
    std::vector<RoundAccount> rounds;  ///< without tallies
    std::optional<RoundSummary> summary;
};
[[nodiscard]] Work work_of(RunFiles const& files, Timeline const& timeline);

/// Without tallies.
[[nodiscard]] std::vector<WindowAccount> windows_of(RunFiles const& files,
                                                    Timeline const& timeline);

struct SiteEnergy {
    energy::Bill bill;
    std::vector<energy::Tally> cumulative;
};
struct Energy {
    double cumulative_step_s{60};
    std::vector<SiteEnergy> sites;
    std::vector<energy::Tally> windows;  ///< as the windows that were passed
    std::vector<energy::Tally> rounds;   ///< as the rounds that were passed
};
[[nodiscard]] Energy energy_of(RunFiles const& files, Timeline const& timeline,
                               std::vector<WindowAccount> const& windows,
                               std::vector<RoundAccount> const& rounds);

/// The counterfactual: the committed tokens at one site that never stops, in each region.
struct AlwaysOn {
    std::optional<double> lone_rate;
    std::vector<Scenario> scenarios;
    std::map<std::string, RunningTotals> cumulative;  ///< by region
    double step_s{300};
    std::string missing;  ///< why there are no scenarios; empty: there are
};
[[nodiscard]] AlwaysOn always_on_of(RunFiles const& files, Timeline const& timeline,
                                    std::int64_t tokens);
/// Tokens per real second of all steps that ran while no other site held devices; empty if there
/// was no such step.
[[nodiscard]] std::optional<double> lone_rate(RunFiles const& files, Timeline const& timeline);

struct Training {
    std::optional<LossAccount> loss;
    std::optional<double> step;  ///< mean duration of a step, real seconds
};
[[nodiscard]] Training training_of(RunFiles const& files, Timeline const& timeline,
                                   MaybeSeconds last_step_s);

/// The held-out evaluation, if it belongs to this run.
struct Evaluation {
    std::optional<HeldOut> held_out;
    std::string rejected;  ///< why an evaluation that was found is not used
};
[[nodiscard]] Evaluation evaluation_of(RunFiles const& files);

/// `complete`, `running`, `finished`, `stopped`, ...: see Account::status.
[[nodiscard]] std::string status_of(RunFiles const& files, Timeline const& timeline);
[[nodiscard]] std::vector<EventLine> events_of(RunFiles const& files, Axis const& axis);

/// Text about the figures. `figures` is the account with all figures.
struct Explanation {
    std::vector<ProvenanceNote> provenance;
    std::map<std::string, std::string> missing;
    std::vector<FactGroup> facts;
    std::vector<std::pair<std::string, std::string>> notes;
    std::vector<std::string> warnings;
};
/// What an explanation needs to know that is not a figure.
struct Gaps {
    std::string always_on;  ///< AlwaysOn::missing
    std::string held_out;   ///< Evaluation::rejected
};
[[nodiscard]] Explanation explain(RunFiles const& files, Timeline const& timeline,
                                  Account const& figures, Gaps const& gaps);

[[nodiscard]] std::vector<ProvenanceNote> provenance_of(Account const& figures);
[[nodiscard]] std::vector<FactGroup> facts_of(RunFiles const& files, Timeline const& timeline,
                                              Account const& figures);
[[nodiscard]] std::vector<std::string> warnings_of(RunFiles const& files, Timeline const& timeline);

inline constexpr char const* no_signal =
    "no trace was given (--trace) and the poller kept no samples";

}  // namespace curtail::account
