// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "account/account.hpp"
#include "chain/run_objects.hpp"
#include "config/run.hpp"
#include "core/clock_file.hpp"
#include "runlog/event.hpp"
#include "runlog/metrics.hpp"
#include "signals/sample_log.hpp"

/// The files of a run's folder (docs/report.md lists them), as they are. The run may be in
/// progress.
namespace curtail::account {

using runlog::Event;
using runlog::StepMetrics;

struct SiteFiles {
    std::vector<Event> events;
    std::vector<StepMetrics> metrics;
};

/// A contribution that a commit decided.
struct Contribution {
    SiteId site;
    std::string member;
    std::int64_t seq{};
    bool included{true};
    std::string refusal;  ///< why it was not included
    std::int64_t tokens{};
    std::int64_t steps{};
    double norm{};
};

/// The part of a commit that an account needs.
struct CommitLine {
    enum class Kind { genesis, roster, merge };
    std::int64_t number{};
    Kind kind{Kind::genesis};
    bool complete{false};
    std::int64_t round{};
    std::int64_t tokens{};  ///< in the committed model
    std::vector<Contribution> contributions;
    Time time;
};

struct RunFiles {
    config::Run run;
    std::optional<TimeScale> clock;  ///< of a replay; empty: real time
    std::vector<Event> poller;
    std::vector<SiteFiles> sites;  ///< as run.sites
    std::vector<CommitLine> commits;
    std::vector<RegionSeries> trace;  ///< given, or the samples the poller used; may be empty
    std::string trace_name;           ///< its origin, for people
    bool whole_trace{false};          ///< `trace` was given; the run may have used only part of it
    std::optional<Time> evaluated_until;  ///< signal time until which all windows are decided
    std::optional<HeldOut> held_out;
    std::vector<std::pair<std::string, std::string>> digests;  ///< input -> SHA-256 and size
    int broken_lines{0};  ///< of all JSON-lines files: cut short by a crash, or damaged
};

/// Reads all files. A missing file counts as empty. A damaged one is an error, except for lines of
/// JSON-lines files, which are counted and left out.
[[nodiscard]] Result<RunFiles> load_run(std::filesystem::path const& run_file,
                                        std::optional<std::filesystem::path> const& trace_file);

/// The samples that the poller used. If two samples of a region are further apart than its sites'
/// longest `max_age`, the time between them is without a signal: an empty reading follows the first
/// of them.
[[nodiscard]] Result<signals::SampleFile> read_samples(std::filesystem::path const& path,
                                                       std::vector<config::Site> const& sites);
/// The output of `curtail-model evaluate`; empty if the file does not exist.
[[nodiscard]] Result<std::optional<HeldOut>> read_evaluation(std::filesystem::path const& path);
/// The run's commits in order; empty if it has not started. `protocol` if one is damaged, does not
/// follow from its parent, or is missing while a later one exists.
[[nodiscard]] Result<std::vector<CommitLine>> read_commits(chain::RunObjects const& objects);

}  // namespace curtail::account
