// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "windows/detector.hpp"

namespace curtail::config {

/// What a site draws in each state, as a model where nothing is metered.
struct Power {
    Watts idle{468};  ///< provisioned, starting, waiting for others
    Watts training{2'024};
};

/// How jobs of a site are started and stopped.
struct Launcher {
    enum class Kind { slurm, local };
    Kind kind{Kind::slurm};
    std::filesystem::path
        slurm_conf;         ///< SLURM_CONF for this site's commands; empty: the environment's
    std::string partition;  ///< empty: the cluster's default
    std::string time_limit{"24:00:00"};       ///< of a job, as sbatch takes it
    std::filesystem::path script;             ///< slurm/site_train.sh
    std::vector<std::string> sbatch_options;  ///< more of them: `--account=x`
    std::filesystem::path
        prologue;  ///< sourced by the script before all else, to load modules; empty: none
    Millis command_deadline{10'000};  ///< for each Slurm command
    Millis grace{120'000};  ///< from the first drain signal that arrives to a plain cancel
};

/// One Slurm cluster or partition in one grid region. Read from inputs/sites/*.json.
struct Site {
    SiteId site;
    RegionId region;                 ///< as the signal's provider calls it
    std::string label;               ///< for people
    std::string devices;             ///< for people: "2 CPU ranks"
    int ranks{1};                    ///< processes of a job
    Millis signal_max_age{600'000};  ///< an older sample is no signal
    windows::Thresholds window;
    Power power;
    Launcher launcher;
};

[[nodiscard]] Result<Site> read_site(std::filesystem::path const& file);

}  // namespace curtail::config
