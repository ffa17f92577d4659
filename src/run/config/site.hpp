// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "base/core/units.hpp"
#include "run/config/mpi.hpp"
#include "run/config/read.hpp"
#include "run/energy/state.hpp"
#include "run/windows/detector.hpp"
#include "storage/store/address.hpp"

namespace curtail::config {

/// Settings for starting and stopping the jobs of a site.
struct LaunchSettings {
    enum class Kind { slurm, local };
    Kind kind{Kind::slurm};
    /// Value of `SLURM_CONF` for Slurm's commands. If empty, the commands use the value in the
    /// environment.
    std::filesystem::path slurm_conf;
    std::string partition;               ///< empty: the cluster's default
    int nodes{0};                        ///< nodes of a job; 0: as many as Slurm chooses
    std::string time_limit{"24:00:00"};  ///< time limit of a job, in sbatch's format
    /// Job script. The default is ../../slurm/site_train.sh, relative to the site file's folder.
    std::filesystem::path script;
    std::vector<std::string> sbatch_options;  ///< further options for sbatch, such as `--account=x`
    /// File that the script sources first, for example to load modules. If empty, the script
    /// sources no file.
    std::filesystem::path prologue;
    Millis command_deadline{10'000};  ///< time limit of each Slurm command
    /// Real time from the first delivered drain signal to the first cancel. If no drain signal was
    /// delivered, see plan::JobLimits::grace. Slurm also sends a job the drain signal this long
    /// before the end of `time_limit`.
    Millis grace{120'000};
    /// After so many consecutive failures of jobs, the poller holds the site.
    int failures_before_hold{6};
    /// How long the poller waits for an ending job before it submits the next one.
    Millis completing_time{300'000};
};

/// A change of a building's PUE.
struct PueChange {
    Time from;  ///< real time
    double pue{1};
    friend bool operator==(PueChange const&, PueChange const&) = default;
};

/// What the energy in `metrics.jsonl` (`energy_j`) covers, if the bill is to use it.
struct Meter {
    bool covers_node{false};  ///< the whole node; otherwise the devices and processors alone
    Watts rest{};             ///< power of the rest of the node, while it trains
    friend bool operator==(Meter const&, Meter const&) = default;
};

/// What a site trains on.
enum class Device { cpu, gpu };

/// One Slurm cluster or partition in one grid region, as a site file (inputs/sites/*.json)
/// describes it.
struct Site {
    SiteId site;
    RegionId region;             ///< as the signal provider names it
    std::string label;           ///< name of the site, for people
    std::string devices;         ///< description for people, such as "2 CPU ranks"
    int ranks{1};                ///< processes per job
    Device device{Device::cpu};  ///< of each rank; with `gpu`, each rank has a GPU of its own
    /// Peak rate of one rank's device for the model's matrix products, in 10^12 operations per
    /// second. Empty if the site file does not state it.
    std::optional<double> rank_peak_tflops;
    /// How long a sample is valid after its time, on the signal's clock. From this age on, the
    /// sample counts as missing.
    Millis signal_max_age{600'000};
    /// Real time between two polls of this site. Jobs may train for some periods without a poll.
    Millis poll_period{60'000};
    /// How long a job may train after the poller's last permission, in real time. Empty: two poll
    /// periods and the close delay, but at least 30 s.
    std::optional<Millis> permission_lifetime;
    windows::Thresholds window;
    /// With the first PUE. Empty: the power is unknown.
    std::optional<energy::Power> power;
    std::vector<PueChange> later_pues;  ///< in order of time
    energy::BetweenJobs between_jobs{energy::BetweenJobs::unknown};
    std::string power_source;  ///< where the two powers come from, for people; empty: not stated
    std::optional<Meter>
        meter;  ///< empty: reports show the metered energy, and bills do not use it
    /// Carbon from making and disposing of the site's devices, per hour in which the site holds
    /// them. Empty if unknown.
    std::optional<double> embodied_gco2_per_hour;
    LaunchSettings launch;
    Mpi mpi;  ///< how its leader connects with those of other sites
    /// How the jobs of this site reach a store in an S3 server. Empty fields: as in the run file.
    store::S3Access s3;
};

/// Reads a site file, and adds it to `files`. Fails with `config` if the file is invalid, or with
/// `no_input` if it is missing.
[[nodiscard]] Result<Site> read_site(std::filesystem::path const& file,
                                     std::vector<SettingsFile>& files);

/// Parses the text of a site file, such as one that a poller logged. `file` is its name for
/// messages and the base of its relative paths. Fails with `config` if it is invalid.
[[nodiscard]] Result<Site> parse_site(std::string const& text, std::filesystem::path const& file);

}  // namespace curtail::config
