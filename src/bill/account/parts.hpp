// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/timeline.hpp"

// The parts of an account, and the functions that compute them from the run's files and from other
// parts. The functions do no I/O. account.hpp explains numbers named `..._s`.
namespace curtail::account {

/// What one site contributed to the committed model.
struct SiteWork {
    Tokens tokens;
    std::int64_t joint_rounds{};
    std::int64_t lone_rounds{};
};
/// What all sites contributed, and the rounds in which they did.
struct Work {
    Commits commits;
    Tokens tokens;     ///< tokens that the committed model includes
    Tokens inherited;  ///< as Account::inherited
    std::vector<SiteWork> sites;
    std::map<SiteId, Tokens> other_sites;  ///< tokens of sites that the run file lacks
    std::vector<RoundAccount> rounds;      ///< each still without energy and carbon
    std::optional<RoundSummary> summary;
};
/// Computes what the sites contributed, from the commits and the sites' logs.
[[nodiscard]] Work work_of(RunFiles const& files, Timeline const& timeline);

/// Computes the windows, still without energy and carbon.
[[nodiscard]] std::vector<WindowAccount> windows_of(RunFiles const& files,
                                                    Timeline const& timeline);

/// The energy and carbon of one site.
struct SiteEnergy {
    energy::Bill bill;
    std::vector<energy::Tally> cumulative;  ///< running totals, every `Energy::cumulative_step_s`
    std::optional<Grams> embodied;          ///< as SiteAccount::embodied
    energy::Tally if_idle;                  ///< as SiteAccount::if_idle
};
/// The energy and carbon of the run.
struct Energy {
    double cumulative_step_s{60};
    std::vector<SiteEnergy> sites;
    std::vector<energy::Tally> windows;  ///< one per window passed to energy_of(), in the same
                                         ///< order
    std::vector<energy::Tally> rounds;   ///< one per round passed to energy_of(), in the same order
};
/// Computes the energy and carbon of the sites, windows and rounds.
[[nodiscard]] Energy energy_of(RunFiles const& files, Timeline const& timeline,
                               std::vector<WindowAccount> const& windows,
                               std::vector<RoundAccount> const& rounds);

/// Compares states, steps, jobs and commits of each site with each other.
[[nodiscard]] std::vector<Doubt> doubts_of(RunFiles const& files, Timeline const& timeline,
                                           Work const& work, Energy const& energy);

/// Compares the lines of each log with each other, and with the samples and commits.
[[nodiscard]] std::vector<Doubt> line_doubts_of(RunFiles const& files, Timeline const& timeline);

/// Names values that may have another unit than the one they should have, and signals that do not
/// fit a site's settings. Returns title and text of each.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> hints_of(RunFiles const& files,
                                                                        Timeline const& timeline);

/// Returns the rule by which the energy of each region of the trace is billed, by region.
[[nodiscard]] std::map<std::string, energy::IntensityRule> intensity_rules_of(
    RunFiles const& files, Timeline const& timeline);

/// Computes the energy of all sites, with its carbon at average intensity. Returns an empty
/// optional if no average intensity is known.
[[nodiscard]] std::optional<energy::Tally> average_of(RunFiles const& files,
                                                      Timeline const& timeline);

/// The counterfactual of the run: one imagined site trains on as many tokens as the committed model
/// includes, without a pause. Each region of the trace has one scenario, which places the site in
/// that region. The site has the rate and the power of a site of the run in that region that has
/// logged a step. If there is none, it has those of the run's reference site
/// (config::Run::reference).
struct AlwaysOn {
    /// Without the regions that have no such site if the reference site has logged no step either.
    std::vector<Scenario> scenarios;
    std::map<std::string, RunningTotals> cumulative;  ///< region -> running totals
    double step_s{300};                               ///< seconds between two running totals
    std::string missing;  ///< why there are no scenarios; empty if there are some
};
/// Computes the counterfactual of training on `tokens` tokens. `rates` are those of rates_of().
[[nodiscard]] AlwaysOn always_on_of(RunFiles const& files, Timeline const& timeline, Tokens tokens,
                                    std::vector<std::optional<SiteRate>> const& rates);
/// Returns the rate of each site, in the order of the sites. A rate is empty if the site has logged
/// no step.
[[nodiscard]] std::vector<std::optional<SiteRate>> rates_of(RunFiles const& files,
                                                            Timeline const& timeline);

/// The training loss and the speed of training.
struct TrainingResult {
    std::optional<LossAccount> loss;
    std::optional<double> step;  ///< mean duration of a step in real seconds
};
/// Computes the training loss and the mean duration of a step. `last_step_s` is
/// Account::last_step_s; it becomes FinalLoss::wall_s.
[[nodiscard]] TrainingResult training_of(RunFiles const& files, Timeline const& timeline,
                                         MaybeSeconds last_step_s);

/// The evaluation on held-out text, if it belongs to this run.
struct Evaluation {
    std::optional<HeldOut> held_out;
    std::string rejected;  ///< why evaluation.json was not used; empty if the file was used or does
                           ///< not exist
};
/// Checks whether the evaluation in `files` belongs to this run. Takes the newest of the losses in
/// the sites' journals instead, if its commit is newer.
[[nodiscard]] Evaluation evaluation_of(RunFiles const& files);
/// Returns what the sites' journals say about the models of this run, in order of commits.
[[nodiscard]] std::vector<FollowedModel> followed_of(RunFiles const& files);
/// Returns the same models, with the times of their commits.
[[nodiscard]] std::vector<FollowedLoss> followed_losses(RunFiles const& files, Axis const& axis);

/// Returns the run's status (see Account::status).
[[nodiscard]] std::string status_of(RunFiles const& files, Timeline const& timeline);
/// Returns the events of the poller and of all sites, in order of time.
[[nodiscard]] std::vector<EventLine> events_of(RunFiles const& files, Axis const& axis);

/// Explains why parts of the account are missing. The text is empty if none is.
struct Gaps {
    std::string always_on;  ///< AlwaysOn::missing
    std::string held_out;   ///< Evaluation::rejected
};
/// Adds the texts that explain the numbers of `account`: provenance, missing numbers, facts, notes
/// and warnings. All numbers must have been computed before.
void explain(Account& account, RunFiles const& files, Timeline const& timeline, Gaps const& gaps);

/// Says where each of the main numbers comes from.
[[nodiscard]] std::vector<ProvenanceNote> provenance_of(Account const& account);
/// Lists facts about the run.
[[nodiscard]] std::vector<FactGroup> facts_of(RunFiles const& files, Timeline const& timeline,
                                              Account const& account);
/// Lists contradictions in the files, which may make numbers wrong, and trouble with the held-out
/// loss.
[[nodiscard]] std::vector<std::string> warnings_of(RunFiles const& files, Timeline const& timeline);

/// The reason that the report gives for missing numbers if a run has no signal.
inline constexpr char const* no_signal =
    "no trace was given (--trace) and the poller kept no samples";

}  // namespace curtail::account
