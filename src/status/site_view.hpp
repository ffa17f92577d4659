// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/run.hpp"
#include "core/time.hpp"

namespace curtail::status {

struct JobView {
    std::string id;
    std::optional<Time> running_since;  ///< empty: the job is queued
    bool leaving{false};                ///< the poller asked it to stop
    friend bool operator==(JobView const&, JobView const&) = default;
};

/// What the poller and the trainer last wrote about one site. Any of it may be out of date; for
/// display only.
struct SiteView {
    SiteId site;
    std::string window;  ///< `closed`, `open`, `closing`; empty: the poller wrote nothing
    std::optional<Time> closing_since;    ///< on the signals' clock
    std::optional<Time> evaluated_until;  ///< on the signals' clock
    std::vector<JobView> jobs;
    bool submitting{false};  ///< a job was submitted, and Slurm's answer is not known yet
    int failures{0};         ///< jobs in a row that failed soon after their start
    std::optional<Time> retry_at;
    std::string failure;  ///< why the last job failed
    std::string trainer;  ///< its last state: `training`, `exchange`, ...; empty: it never ran
    std::optional<Time> trainer_since;  ///< when the trainer entered that state
    friend bool operator==(SiteView const&, SiteView const&) = default;
};

struct SitesView {
    std::vector<SiteView> sites;     ///< one for each site of the run, in its order
    std::vector<std::string> notes;  ///< files that could not be read, and why
};

/// Reads poller/state.json and sites/<SITE>/events.jsonl of a run's folder. Ignores values that
/// are missing, unknown or damaged.
[[nodiscard]] SitesView read_sites(config::Run const& run);

}  // namespace curtail::status
