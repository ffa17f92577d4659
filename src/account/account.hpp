// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/intensity.hpp"
#include "core/units.hpp"
#include "energy/bill.hpp"

// The account of a run: all numbers that a report shows. It is computed from a run's folder
// (account_of.hpp), or from the logs of the experiment in arXiv:2602.22760
// (reference/account.hpp).
//
// The signal's clock shows real time or, in a replay, the time in the trace. Numbers named `..._s`
// are seconds on the signal's clock. Points in time count from time zero (`Account::time_zero`).
// Comments say which other numbers are real seconds. A missing value is an empty optional, never 0.
// A `site` of type std::size_t is an index into `Account::sites`.
namespace curtail::account {

using MaybeSeconds = std::optional<double>;

/// An interval of time.
struct Span {
    double from_s{};
    double to_s{};
    friend bool operator==(Span const&, Span const&) = default;
};

/// An interval in which a site was in one state. The state is the name of an energy::State, or
/// `provision` while the site waits for devices. In the account of arXiv:2602.22760, the state may
/// also be a part of an exchange: `contribute`, `merge` or `adopt`.
struct StateSpan {
    std::string state;
    Span when;
    friend bool operator==(StateSpan const&, StateSpan const&) = default;
};

/// A change of a window's phase.
struct Decision {
    std::size_t site{};
    double at_s{};
    std::string from;  ///< `closed`, `open` or `closing`
    std::string to;    ///< `closed`, `open` or `closing`
    std::string reason;
    std::optional<double> intensity;  ///< g/kWh; empty if it was unknown
};

/// How long a start or a stop took.
struct Latency {
    double seconds{};       ///< real seconds
    bool others_trained{};  ///< whether another site trained at any time during the start or stop
};

/// Everything about one window.
struct WindowAccount {
    std::size_t site{};
    double open_s{};
    MaybeSeconds close_s;  ///< empty if the window is still open at the end of the account
    /// When the window's last job released its devices; empty if the job still has them. If the
    /// window had no job, `released_s` equals `close_s`.
    MaybeSeconds released_s;
    std::vector<Span> closing;     ///< intervals in which the window was `closing`
    MaybeSeconds first_step_s;     ///< when the first step ended
    MaybeSeconds last_step_s;      ///< when the last step ended
    std::optional<Latency> start;  ///< from the window's opening to the end of the first step
    std::optional<Latency> stop;   ///< from the stop request to the trainer's exit
    std::int64_t steps{};
    energy::Tally tally;
};

/// One site's part in a round.
struct RoundPart {
    std::size_t site{};
    std::int64_t steps{};
    Tokens tokens;
    double weight{};  ///< fraction of the round's tokens, 0 to 1
    /// Real seconds from the round's start to the start of the site's first step. In the account of
    /// arXiv:2602.22760, real seconds until that step was logged.
    MaybeSeconds before;
    MaybeSeconds train;  ///< real seconds spent in steps
    MaybeSeconds after;  ///< real seconds from the end of the site's last step to the round's end
};

/// Everything about one round. A round of a Curtail run ends with its merge; docs/report.md defines
/// the start. A round of arXiv:2602.22760 ends with its event ROUND_END, and its merge follows.
struct RoundAccount {
    std::int64_t number{};
    double start_s{};
    double end_s{};
    MaybeSeconds merged_s;  ///< when the merge was committed; empty if the logs do not contain it
    double duration{};      ///< real seconds from start to end
    /// Real seconds from the storing of the last contribution to the merge. In the account of
    /// arXiv:2602.22760, real seconds from the round's end to the merge.
    MaybeSeconds merge;
    std::vector<RoundPart> parts;
    std::int64_t steps{};
    /// The round's x position on the loss charts, in steps: the tokens that the model includes
    /// after the round, divided by the tokens of a step. In the account of arXiv:2602.22760, this
    /// is the number of the round's last step.
    double last_step{};
    Tokens tokens;
    /// The largest norm among the deltas of the included contributions. The norm is sqrt(S / T): S
    /// is the sum of the delta's squared values, and T is the number of the contribution's tokens.
    std::optional<double> delta_norm;
    /// Mean over the round's last 100 logged steps, in nats per token.
    std::optional<double> loss;
    energy::Tally tally;
    std::string note;  ///< says which contributions were refused, and why; may be empty
    /// Returns whether two or more sites took part.
    [[nodiscard]] bool joint() const { return parts.size() > 1; }
};

/// Medians, over the joint rounds, of the fields with the same names in RoundAccount and RoundPart.
/// All medians are in real seconds. An optional median is empty if its field is empty in all
/// joint rounds. The medians for arXiv:2602.22760 have their own definitions
/// (reference::RoundTimes).
struct RoundSummary {
    std::size_t joint{};  ///< number of joint rounds
    double duration{};
    MaybeSeconds before;
    MaybeSeconds train;
    MaybeSeconds after;
    MaybeSeconds merge;
};

/// A line on the loss charts.
struct Curve {
    /// `run` for the run's curve; the site's name for the curve of one site; `one` or `two` for the
    /// baseline with that many sites.
    std::string id;
    std::string label;         ///< text for the user
    std::vector<double> step;  ///< x position on the chart, in steps
    std::vector<double> t;     ///< seconds after time zero, on the signal's clock
    std::vector<double> loss;
    std::vector<double> perplexity;
};

/// The loss of a curve at its end.
struct FinalLoss {
    std::string id;
    std::string label;
    double best_perplexity{};          ///< lowest smoothed perplexity
    double tail_loss{};                ///< mean loss over the last `LossAccount::tail_steps` steps
    std::optional<double> tail_error;  ///< standard error of `tail_loss`; empty for a single step
    double wall_s{};                   ///< when the curve's last step ended
    std::int64_t steps{};
};

/// The loss of the curve with the id `id`, minus the loss of the curve with the id
/// `LossAccount::difference_to`. Both losses are first averaged over buckets of steps.
struct Difference {
    std::string id;
    std::vector<double> step;        ///< x position on the chart, in steps
    std::vector<double> difference;  ///< in nats per token
    std::vector<double> error;       ///< standard error of `difference`
};

/// Everything about the training loss.
struct LossAccount {
    Tokens tokens_per_step;
    std::string smoothing;  ///< description of the smoothing for the user
    std::int64_t tail_steps{};
    std::vector<Curve> raw;     ///< one curve per site, not smoothed; each point is one step
    std::vector<Curve> curves;  ///< smoothed curves
    std::vector<FinalLoss> finals;
    std::string difference_to;         ///< id of the curve that others are compared with
    std::int64_t difference_bucket{};  ///< steps per bucket of a Difference
    std::vector<Difference> differences;

    /// Returns the final loss of the curve with the id `curve`, or null if there is none.
    [[nodiscard]] FinalLoss const* final_of(std::string const& curve) const;
};

/// The loss on text that no site trained on.
struct HeldOut {
    std::int64_t commit{};  ///< number of the commit whose model was evaluated
    /// Number of the newest merge commit after `commit`; empty if there is none.
    std::optional<std::int64_t> newer;
    double loss{};  ///< nats per token
    /// In nats per token: the loss of a model that knows only how frequent each token is.
    double unigram_entropy{};
    Tokens tokens;
    std::optional<double> bits_per_byte;
};

/// Minimum, median and maximum of some durations, in real seconds.
struct Spread {
    std::size_t count{};
    double least{};
    double median{};
    double greatest{};
};

/// Everything about one site.
struct SiteAccount {
    SiteId id;
    RegionId region;
    std::string label;
    std::string devices;
    std::vector<StateSpan> states;
    energy::Bill bill;
    /// Running totals of energy and carbon: the first at time zero, then one every
    /// `Account::cumulative_step_s`.
    std::vector<energy::Tally> cumulative;
    double closed_s{};  ///< seconds in which the site neither had devices nor waited for them
    Tokens tokens;      ///< tokens of this site that the committed model includes
    std::int64_t joint_rounds{};  ///< number of joint rounds that the site contributed to
    std::int64_t lone_rounds{};
    std::optional<Spread> startup;  ///< from a window's opening to the end of the first step
    std::optional<Spread> drain;    ///< from a stop request to the trainer's exit
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};
    double close_delay_s{600};
};

/// A scenario in a comparison: the run itself, or always-on training.
struct Scenario {
    std::string id;  ///< `run`; `one:REGION` (one site, always on in REGION); or `two` (two sites,
                     ///< always on)
    std::string label;
    std::string region;  ///< empty if the scenario has several regions
    std::size_t sites{1};
    MaybeSeconds wall_s;
    std::optional<double> step;  ///< real seconds per step
    /// The energy and carbon. For `two`, there is one tally for each pair of regions, in order of
    /// increasing carbon. For any other scenario, there is a single tally.
    std::vector<energy::Tally> range;
    Tokens tokens;
    std::optional<double> perplexity;
    std::optional<FinalLoss> tail;
    double held_s{};      ///< the part of `wall_s` after the signal's last sample, whose value is
                          ///< assumed to continue
    WattHours held_wh{};  ///< energy drawn in that part
};

/// Running totals at `from_s`, and every `Account::always_on_step_s` after it.
struct RunningTotals {
    double from_s{};
    std::vector<energy::Tally> tallies;
};

/// A baseline: an always-on run that was actually trained, not computed.
struct Baseline {
    std::string id;
    std::string label;
    double kwh{};
    FinalLoss loss;
};

/// Where one number of the report comes from.
struct ProvenanceNote {
    std::string key;  ///< `co2`, `energy`, `share`, `wall`, `ppl`, `tokens` or `goodput`
    std::string title;
    energy::Provenance provenance;
    std::string text;
};

/// A titled list of facts about the run.
struct FactGroup {
    std::string title;
    bool wide{false};  ///< whether the page shows it at full width
    /// Name and value of each fact. The value is empty if it was not recorded.
    std::vector<std::pair<std::string, std::optional<std::string>>> rows;
};

/// One event in the report's list of events.
struct EventLine {
    double at_s{};
    std::string type;
    std::optional<std::int64_t> round;
    std::string site;  ///< empty if the event concerns no single site
    std::string details;
};

/// How many commits of each type a run has.
struct Commits {
    std::int64_t genesis{};
    std::int64_t roster{};
    std::int64_t joint{};  ///< merges of two or more sites
    std::int64_t lone{};   ///< merges of one site
    /// Returns the number of all commits.
    [[nodiscard]] std::int64_t all() const { return genesis + roster + joint + lone; }
};

/// All numbers that a report shows.
struct Account {
    std::string name;
    std::string title;
    /// `complete`, `finished`, `running`, `resting`, `waiting for devices`, `waiting for a window`
    /// or `stopped`; docs/report.md defines them.
    std::string status;
    std::string source;  ///< origin of the numbers, as a text for the user; empty if they come from
                         ///< the run's own folder
    std::string model;   ///< description of the model for the user
    std::int64_t parameters{};
    Time time_zero;  ///< the origin of the report's time axis, on the signal's clock
    double clock_factor{1};
    double end_s{};               ///< the last recorded time of the run
    MaybeSeconds last_step_s;     ///< when the run's last step ended
    double trace_end_s{};         ///< time of the signal's last sample
    std::string signal_provider;  ///< empty if there was no signal
    std::vector<RegionSeries> signals;
    std::vector<SiteAccount> sites;
    std::vector<Decision> decisions;
    std::vector<WindowAccount> windows;
    std::vector<RoundAccount> rounds;
    std::optional<RoundSummary> round_summary;
    Commits commits;
    std::optional<LossAccount> loss;
    std::optional<HeldOut> held_out;
    std::optional<double> step;       ///< mean duration of a step in real seconds
    std::optional<double> lone_rate;  ///< tokens per real second while no other site had devices
    Tokens tokens;                    ///< tokens that the committed model includes
    std::optional<Tokens> planned_tokens;
    double cumulative_step_s{60};
    std::vector<Scenario> always_on;  ///< one per region of the trace, in the trace's order
    /// Region -> running totals of the always-on scenario in that region.
    std::map<std::string, RunningTotals> always_on_cumulative;
    double always_on_step_s{300};
    std::vector<Scenario> other_scenarios;
    std::vector<Baseline> baselines;
    std::vector<ProvenanceNote> provenance;
    std::map<std::string, std::string>
        missing;  ///< key of a missing number or part -> reason, for the user
    std::vector<FactGroup> facts;
    std::vector<std::pair<std::string, std::string>> notes;  ///< title and text of each note
    /// Contradictions in the files. They may make numbers wrong.
    std::vector<std::string> warnings;
    std::vector<EventLine> events;
};

// ---- sums over all sites

/// Returns the energy and carbon of all sites.
[[nodiscard]] energy::Tally total_of(Account const& account);
/// Returns the sum of all sites' bills, without their provenance.
[[nodiscard]] energy::Bill total_bill(Account const& account);
/// Returns the seconds that sites spent in the state `training`, summed over all sites.
[[nodiscard]] double training_s(Account const& account);
/// Returns the seconds in which sites had devices or waited for them, summed over all sites.
[[nodiscard]] double allocated_s(Account const& account);
/// Returns training_s() / allocated_s(), or an empty optional if allocated_s() is 0.
[[nodiscard]] std::optional<double> goodput(Account const& account);

/// Returns the seconds that a site spent in the state `state` (see StateSpan), or in any state if
/// `state` is empty.
[[nodiscard]] double seconds_in(SiteAccount const& site, std::string const& state = {});
/// Returns the CO2 of `part` (the run or a part of it) divided by the CO2 of `other` (always-on).
/// Returns an empty optional unless both tallies are whole (energy::Tally::whole) and the CO2 of
/// `other` is above 0.
[[nodiscard]] std::optional<double> carbon_ratio(energy::Tally const& part,
                                                 energy::Tally const& other);
/// The least and the greatest of some values.
struct Extent {
    double least{};
    double greatest{};
    friend bool operator==(Extent const&, Extent const&) = default;
};
/// The least and greatest value of each figure of a scenario, over all tallies of its `range`. An
/// extent is empty if the figure is unknown for one of the tallies.
struct ScenarioExtents {
    std::optional<Extent> clean_share;  ///< energy::Tally::clean_share()
    std::optional<Extent> grams;        ///< energy::Tally::known_carbon()
    std::optional<Extent> ratio;        ///< carbon_ratio() of the run to the scenario
};
/// Computes the extents of a scenario's figures. `run` is the tally of the whole run.
[[nodiscard]] ScenarioExtents extents_of(Scenario const& scenario, energy::Tally const& run);
/// Returns the run itself as a scenario.
[[nodiscard]] Scenario run_scenario(Account const& account);
/// Returns the scenarios of `Account::always_on`, the one with the lowest carbon first.
[[nodiscard]] std::vector<Scenario> always_on_by_carbon(Account const& account);
/// Says how much of each always-on scenario comes after the signal's last sample, whose value is
/// assumed to continue. Regions with the same numbers share one sentence. A scenario with a
/// `held_s` of 0 is left out.
[[nodiscard]] std::vector<std::string> held_after_signal(Account const& account);
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
