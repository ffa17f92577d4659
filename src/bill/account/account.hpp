// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/ids.hpp"
#include "base/core/intensity.hpp"
#include "base/core/units.hpp"
#include "bill/account/balance.hpp"
#include "bill/account/followed.hpp"
#include "bill/account/loss.hpp"
#include "bill/account/progress.hpp"
#include "bill/account/publication.hpp"
#include "bill/account/scenario.hpp"
#include "bill/account/times.hpp"
#include "run/config/site.hpp"
#include "run/energy/bill.hpp"

// The account of a run: all numbers that a report shows. It is computed from a run's folder
// (account_of.hpp).
//
// The signal's clock shows real time or, in a replay, the time in the trace. Numbers named `..._s`
// are seconds on the signal's clock. If such a number is a point in time, it counts from time zero
// (`Account::time_zero`). Durations whose names do not end in `_s` are in real seconds; their
// comments, or those of their types, say so. A missing value is an empty optional, except in
// `Account::trace_end_s`. A `site` of type std::size_t is an index into `Account::sites`.
namespace curtail::account {

/// A change of a window's phase.
struct PhaseChange {
    std::size_t site{};
    double at_s{};
    std::string from;  ///< `closed`, `open` or `closing`
    std::string to;    ///< `closed`, `open` or `closing`
    std::string reason;
    std::optional<double> intensity;  ///< g/kWh; empty if unknown
};

/// Everything about one window.
struct WindowAccount {
    std::size_t site{};
    double open_s{};
    MaybeSeconds close_s;  ///< empty if the window has not closed by `Account::end_s`
    /// When the window's last job released its devices; empty if the job still has them. If the
    /// window had no job, `released_s` equals `close_s`.
    MaybeSeconds released_s;
    std::vector<Span> closing;     ///< intervals in which the window was `closing`
    MaybeSeconds first_step_s;     ///< when the first step ended
    MaybeSeconds last_step_s;      ///< when the last step ended
    std::optional<Latency> start;  ///< from the window's opening to the end of the first step
    /// From a job's stop request to its trainer's exit. The job is the window's last one that
    /// logged both events.
    std::optional<Latency> stop;
    std::int64_t steps{};
    energy::Tally tally;
};

/// One site's part in a round.
struct RoundPart {
    std::size_t site{};
    std::int64_t steps{};
    Tokens tokens;
    double weight{};      ///< fraction of the round's tokens, 0 to 1
    MaybeSeconds before;  ///< real seconds from the round's start to the site's first step
    MaybeSeconds train;   ///< real seconds spent in steps
    MaybeSeconds after;   ///< real seconds from the end of the site's last step to the round's end
};

/// Everything about one round. A round ends with its merge; docs/report.md defines the start.
struct RoundAccount {
    std::int64_t number{};  ///< counted from 1
    double start_s{};
    double end_s{};
    MaybeSeconds merged_s;  ///< when the merge was committed; empty if the merge was not logged
    double duration{};      ///< real seconds from start to end
    /// Real seconds between two moments. At the first, the last of the included contributions was
    /// stored. At the second, the merge was committed. Empty if only one site took part.
    MaybeSeconds merge;
    std::vector<RoundPart> parts;
    std::int64_t steps{};
    /// The round's x position on the loss charts, in steps: the tokens that the model includes
    /// after the round, divided by LossAccount::tokens_per_step.
    double last_step{};
    Tokens tokens;
    /// The largest norm among the deltas of the included contributions. The norm is sqrt(S / T). S
    /// is the sum of the squares of the delta's values. T is the number of tokens of the
    /// contribution.
    std::optional<double> delta_norm;
    /// Mean training loss over the round's last 100 logged steps, in nats per token.
    std::optional<double> loss;
    energy::Tally tally;
    /// What the sites that exchange payloads over MPI have read from other sites, by the way on
    /// which it came; empty if no such site took part.
    std::optional<Bytes> by_mpi{};
    std::optional<Bytes> from_store{};
    /// Says which contributions were refused, what did not come by MPI, and why; may be empty.
    std::string note;
    /// Returns whether two or more sites took part.
    [[nodiscard]] bool joint() const { return parts.size() > 1; }
};

/// Median durations in the joint rounds, in real seconds. `duration` and `merge` are medians of the
/// RoundAccount fields with these names. `before`, `train` and `after` are medians of the RoundPart
/// fields, over all parts of these rounds. A median is empty if there are no values.
struct RoundSummary {
    std::size_t joint{};  ///< number of joint rounds
    double duration{};
    MaybeSeconds before;
    MaybeSeconds train;
    MaybeSeconds after;
    MaybeSeconds merge;
};

/// The part of a site's bill that depends on lines of its logs that no commit fixes: whoever can
/// write the site's journal can change it.
struct Tail {
    double seconds{};  ///< on the signal's clock
    WattHours energy;
    Grams carbon;  ///< of the energy of known intensity
    /// The power is unknown for a part of these seconds, so energy and carbon are unknown.
    bool unpowered{false};
};

/// What Slurm's accounting says about the energy of a site's jobs that have ended.
struct SlurmEnergy {
    std::size_t jobs{};
    std::size_t metered{};  ///< those whose nodes Slurm meters; the following is about them
    double joules{};        ///< of their nodes, without the building's overhead
    double seconds{};
    WattHours modelled;           ///< by the site's power model, without the overhead
    bool has_whole_nodes{false};  ///< the site file asks for nodes that no other job shares
};

/// Settings of a site, and from when on they were in force.
struct SettingsThen {
    Time from;  ///< real time; Time::min() for the first settings
    double from_s{};
    RegionId region{};
    std::optional<energy::Power> power;  ///< empty: unknown
    std::vector<config::PueChange> later_pues{};
    energy::BetweenJobs between_jobs{energy::BetweenJobs::unknown};
    std::string power_source{};
    bool is_metered{false};  ///< the bill uses the meters for training
    GramsPerKwh open_below{};
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
    /// Tokens of all steps that the site logged. Empty if unknown; then all training counts as
    /// included.
    std::optional<Tokens> trained_tokens;
    std::int64_t joint_rounds{};  ///< number of joint rounds that the site contributed to
    std::int64_t lone_rounds{};
    std::optional<Spread> startup;  ///< from a window's opening to the end of the first step
    std::optional<Spread> drain;    ///< from a stop request to the trainer's exit
    std::optional<SiteRate> rate;   ///< empty if the site logged no step
    /// All settings, in order of time; at least those that were in force last.
    std::vector<SettingsThen> settings{};
    // The settings that were in force last.
    std::optional<energy::Power> power;           ///< empty: unknown
    std::vector<config::PueChange> later_pues{};  ///< as in config::Site
    energy::BetweenJobs between_jobs{energy::BetweenJobs::unknown};
    /// What the meters say about training: mean power and time, and whether the bill uses it.
    struct Metered {
        Watts mean;
        double seconds{};
        double share{};  ///< of the time in steps
        bool is_used{false};
        bool covers_node{false};
    };
    std::optional<Metered> metered{};
    std::string power_source;  ///< where `power` comes from, for the user; empty if not stated
    /// Carbon from making and disposing of the devices, per hour in which the site holds them.
    std::optional<double> embodied_gco2_per_hour;
    /// That of all hours in which the site held devices, or in which its nodes were idle between
    /// its jobs. Empty if it is not stated for all of them.
    std::optional<Grams> embodied;
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};
    double close_delay_s{600};
    Publication publication;
    /// What the cluster's accounting said about the jobs, for the user: `3 jobs, asked at ...` or
    /// why there is no answer. Empty if nobody has asked.
    std::string accounting{};
    std::optional<SlurmEnergy> slurm_energy{};  ///< empty in a replay, or without an answer
    /// Real seconds since Publication::until for which the site has had devices, or has nodes that
    /// are idle between jobs. The bill lacks their energy.
    double unpublished{};
    /// What the site drew between its jobs if its nodes stayed switched on for it. This is not in
    /// `bill`: nobody has said whether they did.
    energy::Tally if_idle{};
    std::optional<Tail> tail{};  ///< empty if the account has no other one to compare with
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
    bool wide{false};  ///< whether the page shows the group at full width
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

/// How many commits of each kind a run has.
struct Commits {
    std::int64_t genesis{};
    std::int64_t roster{};
    std::int64_t joint{};  ///< merges of two or more sites
    std::int64_t lone{};   ///< merges of one site
    /// Returns the number of all commits.
    [[nodiscard]] std::int64_t all() const { return genesis + roster + joint + lone; }
};

/// A model whose held-out loss a site's journal has, or the reason why there is none.
struct FollowedLoss {
    FollowedModel model;
    double at_s{};  ///< when the commit made the model
};

/// How much a run trains.
struct Target {
    Tokens tokens;           ///< tokens after which the run is complete
    Tokens epoch;            ///< tokens of one pass over the data
    std::int64_t epochs{1};  ///< greatest number of passes
    bool has_budget{false};  ///< `tokens` is the run's token budget, not that of all passes
};

/// Work of a site that the committed model includes and that the site's logs do not cover.
struct UnloggedWork {
    SiteId site;
    Tokens tokens;           ///< tokens without a logged step
    bool in_run_file{true};  ///< whether the run file lists the site
};

/// Records of a site that contradict each other, or do not tell.
struct Doubt {
    std::optional<std::size_t> site{};          ///< empty: it concerns all sites
    energy::Bound bound{energy::Bound::exact};  ///< what follows for the site's energy
    std::string title;
    std::string text;  ///< names the files and the interval
};

/// How a second bill differs from that of the record.
struct Recalculation {
    std::string name;          ///< given by the user, or the name of the trace
    std::string trace{};       ///< name of its trace; empty: the signal is the same
    std::int64_t samples{};    ///< how many of the run's own samples were compared with the trace
    std::int64_t differing{};  ///< how many of these have another value in the trace
};

/// All numbers that a report shows.
struct Account {
    std::string name;
    std::string title;
    /// `complete`, `finished`, `running`, `resting`, `waiting for devices`, `waiting for a window`
    /// or `stopped`; docs/report.md defines them.
    std::string status;
    std::string model;  ///< description of the model for the user
    std::int64_t parameters{};
    Time time_zero;  ///< the origin of the report's time axis, on the signal's clock
    double clock_factor{1};
    double end_s{};               ///< the last recorded time of the run
    MaybeSeconds last_step_s;     ///< when the run's last step ended
    double trace_end_s{};         ///< time of the last sample in `signals`; 0 if there is none
    std::string signal_provider;  ///< origin of `signals`, as a text for the user; empty if there
                                  ///< was no signal
    std::string signal_kind{"marginal"};  ///< kind of the samples in `signals`
    std::int64_t estimated_samples{0};    ///< how many of them their provider marked as estimated
    std::vector<RegionSeries> signals;
    /// The run's energy with its carbon at average intensity. Empty if no average intensity is
    /// known.
    std::optional<energy::Tally> average;
    /// How the run's energy is billed, by region of `signals`.
    std::map<std::string, energy::IntensityRule> intensity_rules;
    std::vector<SiteAccount> sites;
    std::vector<WorkBalance> balances;   ///< of `sites`, then of others that commits name
    std::vector<std::string> stuck;      ///< warnings about `balances`; also in `warnings`
    std::vector<UnloggedWork> unlogged;  ///< work whose energy is not in any bill
    std::vector<Doubt> doubts;           ///< about the energy of sites
    std::vector<PhaseChange> decisions;
    std::vector<WindowAccount> windows;
    std::vector<RoundAccount> rounds;
    std::optional<RoundSummary> round_summary;
    Commits commits;
    std::optional<LossAccount> loss;
    std::optional<HeldOut> held_out;
    std::vector<FollowedLoss> followed;  ///< in order of commits
    std::optional<double> step;          ///< mean duration of a step in real seconds
    Tokens tokens;                       ///< tokens that the committed model includes
    /// Those of `tokens` that another run trained: this run is a fork of it. 0: it is none.
    Tokens inherited;
    std::optional<Target> target;  ///< empty if unknown
    std::optional<Speed> speed;    ///< of all sites together; empty if no step took time
    double cumulative_step_s{60};
    std::vector<Scenario> always_on;  ///< one per region, in the order of `signals`
    /// Region -> running totals of the always-on scenario in that region.
    std::map<std::string, RunningTotals> always_on_cumulative;
    double always_on_step_s{300};
    std::vector<ProvenanceNote> provenance;
    std::map<std::string, std::string>
        missing;  ///< key of a missing number or part -> reason, for the user
    std::vector<FactGroup> facts;
    std::vector<std::pair<std::string, std::string>> notes;  ///< title and text of each note
    /// Contradictions in the files, which may make numbers wrong, and trouble with the held-out
    /// loss.
    std::vector<std::string> warnings;
    std::vector<EventLine> events;
    /// Of all that the account is computed from (docs/formats-journal.md). Empty if unknown.
    std::optional<Digest> run_digest;
    /// The account of the same run from those lines alone that the chain of commits fixes. Null if
    /// unknown.
    std::shared_ptr<Account const> fixed;
    /// A second bill, which is not that of the record. Null if nobody asked for one.
    std::shared_ptr<Account const> recalculated;
    std::optional<Recalculation> recalculation;  ///< how it differs

    /// Tokens in the model that this run trained. Energy and carbon are those of these tokens.
    [[nodiscard]] Tokens trained() const { return tokens - inherited; }
};

}  // namespace curtail::account
