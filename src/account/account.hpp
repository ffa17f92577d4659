// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "energy/ledger.hpp"

/// What a report tells, whatever it was computed from: a run's folder or the logs of the reference
/// experiment.
///
/// Moments (`..._s` without further words) are seconds of the signal's clock after
/// `Account::time_zero`. Durations of training, rounds, starts and stops are real seconds. With a
/// clock factor of 1 both are the same. A missing value is nothing, never 0.
namespace curtail::account {

using MaybeSeconds = std::optional<double>;

struct Span {
    double from_s{};
    double to_s{};
    friend bool operator==(Span const&, Span const&) = default;
};

/// A stretch in one state: `provision` (waiting for devices), one of energy::State by name, or a
/// part of an exchange that the reference logged apart: contribute, merge, adopt.
struct StateSpan {
    std::string kind;
    Span when;
    friend bool operator==(StateSpan const&, StateSpan const&) = default;
};

/// A change of a window's phase.
struct Decision {
    std::size_t site{};
    double at_s{};
    std::string from;  ///< closed, open, closing
    std::string to;
    std::string reason;
    std::optional<double> intensity;  ///< g/kWh; nothing: no signal
};

/// A start or a stop.
struct Edge {
    double took{};  ///< real seconds
    bool beside{};  ///< another site was training meanwhile
};

struct WindowAccount {
    std::size_t site{};
    double open_s{};
    MaybeSeconds close_s;       ///< nothing: still open at the end
    MaybeSeconds released_s;    ///< its last job's devices were given back
    std::vector<Span> closing;  ///< stretches of the closing delay
    MaybeSeconds first_step_s;
    MaybeSeconds last_step_s;
    std::optional<Edge> start;  ///< from the opening to the first step
    std::optional<Edge> stop;   ///< from the stop request to the trainer's exit
    std::int64_t steps{};
    energy::Tally tally;
};

struct RoundPart {
    std::size_t site{};
    std::int64_t steps{};
    std::int64_t tokens{};
    double weight{};      ///< share of the round's tokens
    MaybeSeconds before;  ///< real seconds from the round's start to the site's first step
    MaybeSeconds train;   ///< real seconds in steps
    MaybeSeconds after;   ///< real seconds from the site's last step to the round's end
};

struct RoundAccount {
    std::int64_t number{};
    double start_s{};
    double end_s{};
    MaybeSeconds merged_s;
    double duration{};   ///< real seconds from start to end
    MaybeSeconds merge;  ///< real seconds from the last contribution to the merge
    std::vector<RoundPart> parts;
    std::int64_t steps{};
    double last_step{};  ///< position on the loss charts, in steps
    std::int64_t tokens{};
    std::optional<std::int64_t> bytes;
    std::optional<double> delta_norm;
    std::optional<double> loss;  ///< mean of its last rows, nats
    energy::Tally tally;
    std::string note;
    [[nodiscard]] bool joint() const { return parts.size() > 1; }
};

/// Medians over joint rounds, real seconds. Nothing: no round tells.
struct RoundSummary {
    std::size_t joint{};
    double duration{};
    MaybeSeconds before;
    MaybeSeconds train;
    MaybeSeconds after;
    MaybeSeconds merge;
};

/// A line on the loss charts.
struct Curve {
    std::string id;     ///< `run`, `one`, `two`
    std::string label;  ///< for people
    std::vector<double> step;
    std::vector<double> t;  ///< s after time zero
    std::vector<double> loss;
    std::vector<double> perplexity;
};

struct FinalLoss {
    std::string id;
    std::string label;
    double best_perplexity{};
    double tail_loss{};                ///< mean of the last `LossAccount::tail_steps` steps
    std::optional<double> tail_error;  ///< its standard error; nothing of a single step
    double wall_s{};
    std::int64_t steps{};
};

/// Loss of a curve less that of `LossAccount::difference_to`, in buckets of steps.
struct Difference {
    std::string id;
    std::vector<double> step;
    std::vector<double> difference;
    std::vector<double> error;
};

struct LossAccount {
    std::int64_t tokens_per_step{};
    std::string smoothing;  ///< in words
    std::int64_t tail_steps{};
    std::vector<Curve> raw;  ///< per site: single steps
    std::vector<Curve> curves;
    std::vector<FinalLoss> finals;
    std::string difference_to;
    std::int64_t difference_bucket{};
    std::vector<Difference> differences;
};

/// Loss on text that was never trained on.
struct HeldOut {
    std::int64_t commit{};
    std::optional<std::int64_t>
        newer;  ///< a later commit with another model; nothing: it is of the newest
    std::optional<std::int64_t> trained_tokens;  ///< in that commit's model
    double loss{};                               ///< nats per token
    double unigram_entropy{};  ///< nats per token: what a model knows that has only counted tokens
    std::int64_t tokens{};
    std::optional<double> bits_per_byte;
};

/// Least, middle and greatest of some durations, real seconds.
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
    energy::Ledger ledger;
    std::vector<energy::Tally> cumulative;  ///< at 0, `Account::cumulative_step_s`, ...
    double closed_s{};            ///< of the run without devices and without waiting for them
    std::int64_t tokens{};        ///< in the committed model
    std::int64_t joint_rounds{};  ///< it took part in
    std::int64_t lone_rounds{};
    std::optional<Spread> startup;  ///< window open to first step
    std::optional<Spread> drain;    ///< stop request to exit
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};
    double close_delay_s{600};
};

/// A whole scenario beside the run.
struct Scenario {
    std::string id;  ///< `run`, `one:DE`, `two`
    std::string label;
    std::string region;  ///< empty: several
    std::size_t sites{1};
    MaybeSeconds wall_s;
    std::optional<double> step;  ///< real seconds a step takes
    std::vector<energy::Tally>
        range;  ///< one, or the least and the greatest where regions are not known
    std::int64_t tokens{};
    std::optional<double> perplexity;
    std::optional<FinalLoss> tail;
    double held_s{};      ///< of `wall_s` after the signal's last sample, whose value is held there
    WattHours held_wh{};  ///< drawn then
};

/// Running totals at `from_s`, and then every so often.
struct RunningTotals {
    double from_s{};
    std::vector<energy::Tally> tallies;
};

/// A baseline that was really run.
struct Baseline {
    std::string id;
    std::string label;
    double kwh{};
    FinalLoss loss;
};

struct ProvenanceNote {
    std::string key;  ///< co2, energy, share, wall, ppl, tokens, goodput
    std::string title;
    energy::Provenance provenance;
    std::string text;
};

struct FactGroup {
    std::string title;
    bool wide{false};
    std::vector<std::pair<std::string, std::optional<std::string>>>
        rows;  ///< nothing: not recorded
};

struct EventLine {
    double at_s{};
    std::string type;
    std::optional<std::int64_t> round;
    std::string site;  ///< empty: no single one
    std::string details;
};

struct SignalSeries {
    std::string region;
    std::vector<double> t;
    std::vector<std::optional<double>> value;  ///< g/kWh
};

struct Commits {
    std::int64_t genesis{};
    std::int64_t roster{};
    std::int64_t joint{};  ///< merged from two sites or more
    std::int64_t lone{};
    [[nodiscard]] std::int64_t all() const { return genesis + roster + joint + lone; }
};

struct Account {
    std::string name;
    std::string title;
    std::string status;  ///< `complete`, `finished`, `running`, `resting`, `waiting for devices`,
                         ///< `waiting for a window`, `stopped`
    std::string source;  ///< in a few words; empty: a run's own folder
    std::string model;
    std::int64_t parameters{};
    Time time_zero;
    double clock_factor{1};
    double end_s{};
    MaybeSeconds last_step_s;
    double trace_end_s{};
    std::string signal_provider;  ///< empty: none
    std::vector<SignalSeries> signals;
    std::vector<SiteAccount> sites;
    std::vector<Decision> decisions;
    std::vector<WindowAccount> windows;
    std::vector<RoundAccount> rounds;
    std::optional<RoundSummary> round_summary;
    Commits commits;
    std::optional<LossAccount> loss;
    std::optional<HeldOut> held_out;
    std::optional<double> step;       ///< real seconds a step takes, mean
    std::optional<double> lone_rate;  ///< tokens per real second while no other site held devices
    std::int64_t tokens{};            ///< in the committed model
    std::optional<std::int64_t> planned_tokens;
    double cumulative_step_s{60};
    std::vector<Scenario> always_on;  ///< one per region of the trace, in its order
    std::map<std::string, RunningTotals>
        always_on_cumulative;  ///< by region, every `always_on_step_s`
    double always_on_step_s{300};
    std::vector<Scenario> other_scenarios;
    std::vector<Baseline> baselines;
    std::vector<ProvenanceNote> provenance;
    std::map<std::string, std::string> missing;  ///< field -> why it is not there, in words
    std::vector<FactGroup> facts;
    std::vector<std::pair<std::string, std::string>> notes;
    std::vector<std::string> doubts;  ///< why figures of a site may be wrong, in words
    std::vector<EventLine> events;

    [[nodiscard]] energy::Tally total() const;
    [[nodiscard]] WattHours inside_windows() const;
    [[nodiscard]] double training_s() const;  ///< of all sites, in state `training`
    [[nodiscard]] double allocated_s()
        const;  ///< of all sites, from the decision to open to the release
};

/// Seconds a site spent in states of `kind`; of all kinds if it is empty.
[[nodiscard]] double seconds_in(SiteAccount const& site, std::string const& kind = {});
/// CO2 of `part`, the run or a part of it, over that of `other`, always-on; nothing where either is
/// not known as a whole (energy::Tally::whole), or the other caused none.
[[nodiscard]] std::optional<double> carbon_ratio(energy::Tally const& part,
                                                 energy::Tally const& other);
/// What of always-on lies after the signal's last sample, whose value is held there: one sentence
/// for the regions that have it in common.
[[nodiscard]] std::vector<std::string> held_after_signal(Account const& account);
/// Real seconds of all windows' edges of one kind, `start` or `stop`, with another site training
/// meanwhile or without.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<WindowAccount> const& windows,
                                              std::optional<Edge> WindowAccount::*edge,
                                              bool beside);
/// Least, median (mean of the middle two) and greatest; nothing of nothing.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<double> values);

}  // namespace curtail::account
