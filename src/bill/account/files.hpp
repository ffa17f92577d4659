// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bill/account/account.hpp"
#include "bill/account/site_logs.hpp"
#include "protocol/chain/run_objects.hpp"
#include "protocol/records/record.hpp"
#include "run/config/run.hpp"
#include "run/runlog/evaluation.hpp"
#include "run/runlog/event.hpp"
#include "run/runlog/metrics.hpp"
#include "run/samples/sample_log.hpp"

// Reads the logs of a run's sites, the commits in the run's store, and files of the run's folder
// (docs/report.md lists them). Computes nothing from them. The run may be in progress.
namespace curtail::account {

using runlog::Event;
using runlog::StepMetrics;

/// A change of a clock, which the times of a log's lines show.
struct ClockChange {
    Millis by{0};             ///< 0: none
    energy::Interval when{};  ///< of the lines that show it
};

/// What one site logged.
struct SiteFiles {
    std::vector<Event> events;
    std::vector<StepMetrics> metrics;
    Publication publication{};
    std::vector<runlog::HeldOutLine> evaluations{};
    /// By how much the clock of the site's machine was set back at most while a trainer ran. The
    /// times of `events` and `metrics` are corrected (clocks.hpp).
    ClockChange set_back{};
};

/// A contribution that a commit included or refused.
struct Contribution {
    SiteId site;
    std::string member;
    std::int64_t seq{};  ///< the member numbers its contributions 1, 2, 3, ...
    bool included{true};
    std::string refusal;  ///< why the contribution was refused; empty if it was included
    Tokens tokens;
    std::int64_t steps{};
    double norm{};  ///< norm of the contribution's delta; RoundAccount::delta_norm has the formula
    bool clipped{false};  ///< the merge clipped the delta, because it was too long
};

/// The parts of a commit that the report needs.
struct CommitSummary {
    using Kind = protocol::Commit::Kind;
    std::int64_t number{};
    Kind kind{Kind::genesis};
    bool run_complete{false};  ///< whether the model includes every block of the stream
    std::int64_t round{};      ///< number of the round that is in progress after the commit
    Tokens tokens;  ///< tokens that the committed model includes, from the start of the run
    std::vector<Contribution> contributions;
    Time time;        ///< real time
    Digest model{};   ///< SHA-256 of the model's weights, as in `evaluation.jsonl`
    SiteId writer{};  ///< the site whose process wrote the commit
    std::vector<SiteId> named_sites{};  ///< the sites whose logs the commit names
    std::vector<std::pair<SiteId, protocol::Removal>> removed{};  ///< members, by their sites
    std::vector<protocol::Quarantine> quarantine{};
};

/// A run's commits, and the terms that the newest one states.
struct CommitList {
    std::vector<CommitSummary> commits;
    std::optional<protocol::Terms> terms;  ///< empty without commits
    journal::RunNamedPieces named;         ///< the pieces of journals that the commits name
    std::vector<Digest> digests;           ///< of the bytes of each commit
};

/// A log with lines that do not count.
struct BrokenFile {
    std::string name;  ///< for the user
    BrokenLines lines;
};

/// Samples of the pollers that are not what they should be, and what shows it.
struct WrongSamples {
    /// Those that contradict each other, or do not count. `text` and `other` are indices of the
    /// run's sites.
    std::vector<samples::FaultySamples> faulty;
    /// Those that the trace lacks or has another value for, although the pollers replayed it. Only
    /// `region`, `count`, `from` and `to` are set.
    std::vector<samples::FaultySamples> unlike_trace;
    /// Those of kind average at whose times the same region has none of kind marginal, although it
    /// has others. Only `region`, `count`, `from` and `to` are set.
    std::vector<samples::FaultySamples> mixed;
    /// Those of a live run that no stored answer of their provider confirms.
    std::vector<samples::FaultySamples> unconfirmed{};
    /// SHA-256 of each trace that the pollers replayed, if nobody has compared the samples with it.
    std::string uncompared{};
    /// When the poller of each site received its marginal samples, in the order of run.sites. May
    /// be empty.
    std::vector<samples::ReceiptTimes> receipts{};
};

/// The content of a run's files.
struct RunFiles {
    config::Run run;
    std::optional<TimeScale> clock;    ///< clock of the replay; empty if the run is live
    std::vector<Event> poller_events;  ///< the events that the poller logged, by site
    std::vector<SiteFiles> sites;      ///< one per site, in the order of run.sites
    std::vector<CommitSummary> commits;
    /// run.json of the store, with the terms that the newest commit states; empty if the run has
    /// not begun.
    std::optional<protocol::RunSpec> spec;
    /// The signal's samples: those that the pollers logged, or those of LoadOptions::trace if it is
    /// the signal of the run (read_signal()). May be empty.
    std::vector<RegionSeries> trace;
    std::vector<RegionId> regions_from_trace;  ///< regions of `trace` that only LoadOptions::trace
                                               ///< has; no site is there
    std::string trace_name;                    ///< origin of `trace`, as a text for the user
    /// True if `trace` was read from LoadOptions::trace. If so, the run may have used only
    /// part of `trace`.
    bool trace_from_file{false};
    std::int64_t estimated_samples{0};  ///< samples of `trace` that their provider marked as
                                        ///< estimated
    WrongSamples wrong_samples;
    /// Samples that were left out because their times lie more than a day before or after the
    /// events of the pollers.
    std::int64_t impossible_samples{0};
    /// Samples of average intensity. They never enter the marginal bill. May be empty.
    std::vector<RegionSeries> averages;
    /// The time up to which the poller has evaluated the windows of all sites, on the signal's
    /// clock (account.hpp). Empty if unknown.
    std::optional<Time> evaluated_until;
    std::optional<runlog::Evaluation> evaluation;
    /// The name of each input file, and a text that states the file's SHA-256 and size in bytes.
    std::vector<std::pair<std::string, std::string>> digests;
    std::vector<BrokenFile> broken_files;  ///< the logs with damaged lines
    /// The bill has the present settings of the sites, whatever was in force.
    bool uses_present_settings{false};
    std::optional<Recalculation> recalculation;  ///< set if this is a second bill
    /// The same run for a second bill. Null if nobody asked for one.
    std::shared_ptr<RunFiles const> recalculated;
    bool clock_differs{false};  ///< the local clock.json differs from the clock in the journals
    std::optional<Digest> run_digest;  ///< docs/formats-journal.md; empty if not read whole
    /// The same with only those lines of the sites' logs that the chain of commits fixes. Null if
    /// the run was not read whole.
    std::shared_ptr<RunFiles const> fixed;

    /// The text of each log and its name, such as `alpha-metrics.jsonl`; with
    /// LoadOptions::keeps_logs.
    std::vector<std::pair<std::string, std::string>> logs;

    void add_broken(std::string name, BrokenLines const& lines)
    {
        if (lines.count > 0) broken_files.push_back({std::move(name), lines});
    }
};

/// What to read beside the run's own files.
struct LoadOptions {
    /// A trace. If the run has its own samples, it becomes the signal of RunFiles::recalculated.
    std::optional<std::filesystem::path> trace{};
    /// A trace of average intensity, which becomes RunFiles::averages; otherwise, the poller's
    /// average samples do.
    std::optional<std::filesystem::path> averages{};
    /// The name of a second bill with the present settings of the sites.
    std::optional<std::string> recalculate{};
    bool keeps_logs{false};  ///< sets RunFiles::logs
    chain::CacheSettings cache{};
};

/// Reads all files, and the logs in the store. `run_file` must exist, and so must the model and
/// site files that it names. Local logs only add lines that are not yet published. Files of
/// `options` must exist. Any other missing file counts as empty. For missing commits, see
/// read_commits().
///
/// Fails if a file is damaged, with three exceptions. A damaged line of a JSON-lines file is
/// skipped, and counted in RunFiles::broken_files. A damaged value in the poller's state.json
/// counts as missing. An evaluation.json whose JSON is not an object also counts as missing.
[[nodiscard]] Result<RunFiles> load_run(std::filesystem::path const& run_file,
                                        LoadOptions const& options = {});

/// Takes over what the logs contain, except the samples: the clock, the events and the steps.
/// `files.run` must be set, and `logs` must be in the order of its sites. Also reads the clock, the
/// state and the old logs of the local poller in the run's folder.
[[nodiscard]] Result<void> take_logs(RunFiles& files, std::vector<SiteLogs> logs);

/// Reads the run's commits, in order. Returns no commits if the run has not started. Fails with
/// `protocol` if a commit is damaged or does not name the digest of its parent. Fails with
/// `protocol` if a commit before the newest one is missing.
[[nodiscard]] Result<CommitList> read_commits(chain::RunObjects const& objects);

}  // namespace curtail::account
