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

/// The account of a run: every figure that a report shows. It is computed from a run's folder
/// (account_of.hpp) or from the logs of the reference experiment (reference/account.hpp).
///
/// Times (`..._s`, unless stated otherwise) are seconds of the signal's clock after
/// `Account::time_zero`. Durations of training, rounds, starts and stops are real seconds. The two
/// are equal at a clock factor of 1. A missing value is an empty optional, never 0.
namespace curtail::account {

using MaybeSeconds = std::optional<double>;

struct Span {
    double from_s{};
    double to_s{};
    friend bool operator==(Span const&, Span const&) = default;
};

/// An interval in one state: `provision` (waiting for devices), the name of an energy::State, or a
/// part of an exchange that the reference logged separately (contribute, merge, adopt).
struct StateSpan {
    std::string state;
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
    std::optional<double> intensity;  ///< g/kWh; empty: no signal
};

/// How long a start or a stop took.
struct Latency {
    double seconds{};       ///< real
    bool others_trained{};  ///< another site trained at the same time
};

struct WindowAccount {
    std::size_t site{};
    double open_s{};
    MaybeSeconds close_s;       ///< empty: still open at the end
    MaybeSeconds released_s;    ///< its last job released its devices
    std::vector<Span> closing;  ///< intervals of the closing delay
    MaybeSeconds first_step_s;
    MaybeSeconds last_step_s;
    std::optional<Latency> start;  ///< from the opening to the first step
    std::optional<Latency> stop;   ///< from the stop request to the trainer's exit
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
    std::optional<double> delta_norm;
    std::optional<double> loss;  ///< mean over its last steps, nats per token
    energy::Tally tally;
    std::string note;
    [[nodiscard]] bool joint() const { return parts.size() > 1; }
};

/// Medians over joint rounds, real seconds. Empty: no round recorded it.
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
    std::optional<double> tail_error;  ///< its standard error; empty for a single step
    double wall_s{};
    std::int64_t steps{};
};

/// Loss of a curve minus that of `LossAccount::difference_to`, in buckets of steps.
struct Difference {
    std::string id;
    std::vector<double> step;
    std::vector<double> difference;
    std::vector<double> error;
};

struct LossAccount {
    std::int64_t tokens_per_step{};
    std::string smoothing;  ///< description for people
    std::int64_t tail_steps{};
    std::vector<Curve> raw;  ///< per site: single steps
    std::vector<Curve> curves;
    std::vector<FinalLoss> finals;
    std::string difference_to;
    std::int64_t difference_bucket{};
    std::vector<Difference> differences;

    /// The final loss of a curve; nullptr if it has none.
    [[nodiscard]] FinalLoss const* final_of(std::string const& curve) const;
};

/// Loss on text that no site trained on.
struct HeldOut {
    std::int64_t commit{};
    std::optional<std::int64_t> newer;  ///< a later commit with another model, if there is one
    std::optional<std::int64_t> trained_tokens;  ///< in that commit's model
    double loss{};                               ///< nats per token
    double unigram_entropy{};  ///< nats per token: the loss of a model of token frequencies only
    std::int64_t tokens{};
    std::optional<double> bits_per_byte;
};

/// Minimum, median and maximum of some durations, real seconds.
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
    std::vector<energy::Tally>
        cumulative;               ///< running totals at 0, `Account::cumulative_step_s`, ...
    double closed_s{};            ///< neither holding devices nor waiting for them
    std::int64_t tokens{};        ///< in the committed model
    std::int64_t joint_rounds{};  ///< that it contributed to
    std::int64_t lone_rounds{};
    std::optional<Spread> startup;  ///< window open to first step
    std::optional<Spread> drain;    ///< stop request to exit
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};
    double close_delay_s{600};
};

/// A scenario that the run is compared with.
struct Scenario {
    std::string id;  ///< `run`, `one:DE`, `two`
    std::string label;
    std::string region;  ///< empty: several
    std::size_t sites{1};
    MaybeSeconds wall_s;
    std::optional<double> step;        ///< real seconds a step takes
    std::vector<energy::Tally> range;  ///< one, or the lowest first where the regions vary
    std::int64_t tokens{};
    std::optional<double> perplexity;
    std::optional<FinalLoss> tail;
    double held_s{};  ///< part of `wall_s` after the signal's last sample, at that sample's value
    WattHours held_wh{};  ///< drawn in that part
};

/// Running totals at `from_s` and at regular steps after it.
struct RunningTotals {
    double from_s{};
    std::vector<energy::Tally> tallies;
};

/// A baseline that was run, not computed.
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
    std::vector<std::pair<std::string, std::optional<std::string>>> rows;  ///< empty: not recorded
};

struct EventLine {
    double at_s{};
    std::string type;
    std::optional<std::int64_t> round;
    std::string site;  ///< empty: it concerns no single site
    std::string details;
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
    std::string source;  ///< origin for people; empty: a run's own folder
    std::string model;
    std::int64_t parameters{};
    Time time_zero;
    double clock_factor{1};
    double end_s{};
    MaybeSeconds last_step_s;
    double trace_end_s{};
    std::string signal_provider;  ///< empty: none
    std::vector<RegionSeries> signals;
    std::vector<SiteAccount> sites;
    std::vector<Decision> decisions;
    std::vector<WindowAccount> windows;
    std::vector<RoundAccount> rounds;
    std::optional<RoundSummary> round_summary;
    Commits commits;
    std::optional<LossAccount> loss;
    std::optional<HeldOut> held_out;
    std::optional<double> step;       ///< mean duration of a step, real seconds
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
    std::map<std::string, std::string> missing;  ///< figure -> why it is missing, for people
    std::vector<FactGroup> facts;
    std::vector<std::pair<std::string, std::string>> notes;
    std::vector<std::string> warnings;  ///< contradictions in the files: figures may be wrong
    std::vector<EventLine> events;
};

// ---- sums over all sites

[[nodiscard]] energy::Tally total_of(Account const& account);
[[nodiscard]] WattHours inside_windows(Account const& account);
[[nodiscard]] double training_s(Account const& account);   ///< in state `training`
[[nodiscard]] double allocated_s(Account const& account);  ///< in any state

/// Seconds that a site spent in `state`, or in any state if it is empty.
[[nodiscard]] double seconds_in(SiteAccount const& site, std::string const& state = {});
/// CO2 of `part` (the run or a part of it) divided by that of `other` (always-on). Empty if either
/// is incomplete (energy::Tally::whole) or `other` is 0.
[[nodiscard]] std::optional<double> carbon_ratio(energy::Tally const& part,
                                                 energy::Tally const& other);
/// How much of always-on lies after the signal's last sample, where that sample's value is held:
/// one sentence for all regions with the same figures.
[[nodiscard]] std::vector<std::string> held_after_signal(Account const& account);
/// Latencies of all windows' starts or stops, either with other sites training or without.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<WindowAccount> const& windows,
                                              std::optional<Latency> WindowAccount::*latency,
                                              bool others_trained);
/// Minimum, median (mean of the middle two) and maximum; empty if there are no values.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<double> values);

}  // namespace curtail::account
