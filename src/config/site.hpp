// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "energy/state.hpp"
#include "windows/detector.hpp"

namespace curtail::config {

/// How to start and stop the jobs of a site.
struct Launcher {
    enum class Type { slurm, local };  ///< the key is `kind`
    Type type{Type::slurm};
    std::filesystem::path slurm_conf;  ///< SLURM_CONF for Slurm commands; empty: the environment's
    std::string partition;             ///< empty: the cluster's default
    std::string time_limit{"24:00:00"};       ///< of a job, in sbatch's format
    std::filesystem::path script;             ///< slurm/site_train.sh
    std::vector<std::string> sbatch_options;  ///< additional options: `--account=x`
    std::filesystem::path prologue;  ///< sourced first by the script, to load modules; may be empty
    Millis command_deadline{10'000};  ///< of each Slurm command
    Millis grace{120'000};            ///< from the first delivered drain signal to a plain cancel
};

/// One Slurm cluster or partition in one grid region. Read from inputs/sites/*.json.
struct Site {
    SiteId site;
    RegionId region;                 ///< by the signal provider's name
    std::string label;               ///< for people
    std::string devices;             ///< for people, such as "2 CPU ranks"
    int ranks{1};                    ///< processes of a job
    Millis signal_max_age{600'000};  ///< an older sample counts as no signal
    windows::Thresholds window;
    energy::Power power;
    Launcher launcher;
};

/// Reads a site file. Codes `config` and `no_input`.
[[nodiscard]] Result<Site> read_site(std::filesystem::path const& file);

}  // namespace curtail::config
