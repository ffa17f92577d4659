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
    std::optional<Time> running_since;  ///< nothing: it waits in the queue
    bool leaving{false};                ///< asked to go
    friend bool operator==(JobView const&, JobView const&) = default;
};

/// What the poller and the trainer last wrote about one site. All of it may be old; nothing is
/// decided by it.
struct SiteView {
    SiteId site;
    std::string window;  ///< `closed`, `open`, `closing`; empty if the poller has not said
    std::optional<Time> closing_since;    ///< on the signals' clock
    std::optional<Time> evaluated_until;  ///< on the signals' clock
    std::vector<JobView> jobs;
    bool submitting{false};  ///< a job was asked for and the answer is not known
    int failures{0};         ///< jobs in a row that failed at once
    std::optional<Time> retry_at;
    std::string failure;  ///< the last one, in words
    std::string
        trainer;  ///< its last state: `training`, `exchange`, `idle`, ...; empty if it never ran
    std::optional<Time> trainer_since;
    friend bool operator==(SiteView const&, SiteView const&) = default;
};

struct SitesView {
    std::vector<SiteView> sites;     ///< one for each site of the run, in its order
    std::vector<std::string> notes;  ///< what could not be read, in words
};

/// Reads poller/state.json and sites/<SITE>/events.jsonl of a run's folder, leniently: what is
/// absent, unknown or damaged is left out.
[[nodiscard]] SitesView read_sites(config::Run const& run);

}  // namespace curtail::status
