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

/// What a run left in its folder, read as it stands (docs/report.md lists the files). A run in
/// progress is a valid run.
namespace curtail::account {

using runlog::Event;
using runlog::StepMetrics;

struct SiteFiles {
    std::vector<Event> events;
    std::vector<StepMetrics> metrics;
};

/// What the report needs of a contribution that a commit decided.
struct Contribution {
    SiteId site;
    std::string member;
    std::int64_t seq{};
    bool included{true};
    std::string refusal;  ///< why not
    std::int64_t tokens{};
    std::int64_t steps{};
    double norm{};
};

/// What the report needs of a commit.
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
    std::optional<TimeScale> clock;  ///< of a replay; absent: real time
    std::vector<Event> poller;
    std::vector<SiteFiles> sites;  ///< as run.sites
    std::vector<CommitLine> commits;
    std::vector<RegionSeries> trace;  ///< given, or the poller's own samples; empty: neither
    std::string trace_name;           ///< for people: where it is from
    bool whole_trace{false};  ///< `trace` is a recorded one, not what the poller has seen so far
    std::optional<Time>
        evaluated_until;  ///< signal time up to which the poller has decided every site's window
    std::optional<HeldOut> held_out;
    std::vector<std::pair<std::string, std::string>>
        digests;  ///< file name, SHA-256 and size of what was read
    int broken_lines{
        0};  ///< of all JSON-lines files: cut short by a crash, or not what they should be
};

/// Reads everything. A file that is not there yet is empty; one that is damaged is an error, except
/// lines of JSON-lines files, which are counted and left out.
[[nodiscard]] Result<RunFiles> load_run(std::filesystem::path const& run_file,
                                        std::optional<std::filesystem::path> const& trace_file);

/// The samples that the poller used. If two of a region are further apart than its sites' longest
/// `max_age`, the time between is without a signal: an empty reading follows the first of them.
[[nodiscard]] Result<signals::SampleFile> read_samples(std::filesystem::path const& path,
                                                       std::vector<config::Site> const& sites);
/// What `curtail-model evaluate` wrote; nothing if the file is not there.
[[nodiscard]] Result<std::optional<HeldOut>> read_evaluation(std::filesystem::path const& path);
/// The run's commits in order; empty if it has not started. `protocol` if one is damaged, does not
/// follow from its parent, or is missing while a later one exists.
[[nodiscard]] Result<std::vector<CommitLine>> read_commits(chain::RunObjects const& objects);

}  // namespace curtail::account
