// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "run/config/run.hpp"
#include "run/runlog/event.hpp"

namespace curtail::account {

/// A site's settings, and from when on they were in force.
struct SettingsInForce {
    Time from;  ///< real time; Time::min() for the first settings of a site
    config::Site site;
};

/// What the run file says about the pace of training, and from when on it was in force.
struct PaceInForce {
    Time from;  ///< real time; Time::min() for the first pace of a site
    Tokens batch_tokens;
    FractionalSeconds step_at_least;
    SiteId reference_site;
    /// The files of the sites in the run file, without their folders; empty if it names none. Their
    /// order decides which site is the reference if none is named.
    std::vector<std::string> site_files{};
};

/// A site's settings over time, as the logs of its poller or its trainers have them.
struct LoggedSettings {
    /// In order of time. Without a log, the present settings alone. Adjoining settings differ in
    /// something that the bill depends on.
    std::vector<SettingsInForce> all;
    /// All thresholds of the window that were ever in force; there may be equal ones.
    std::vector<windows::Thresholds> thresholds{};
    bool is_logged{false};
    Time logged{};  ///< real time of the last log, if there is one
    /// In order of time. Without a log, the present pace alone. Adjoining ones differ.
    std::vector<PaceInForce> paces;
    /// Returns the pace that was in force at a real time.
    [[nodiscard]] PaceInForce const& pace_at(Time time) const;
    /// Returns the settings that were in force at a real time.
    [[nodiscard]] config::Site const& at(Time time) const;
    /// Returns those that were in force last.
    [[nodiscard]] config::Site const& last() const { return all.back().site; }

    std::string file{};     ///< name of the last logged site file
    std::string problem{};  ///< which logged settings cannot be used, and why; for people
    /// Where the trainers' log has other settings than the poller's; for people.
    std::string contradiction{};
};

/// Finds the settings of a site in the events of its poller. Before these begin, it has those of
/// its trainers, `own`. `run` and `present`, one of its sites, are the settings today.
[[nodiscard]] LoggedSettings logged_settings(config::Run const& run, config::Site const& present,
                                             std::vector<runlog::Event> const& poller,
                                             std::vector<runlog::Event> const& own);

/// Returns the present settings, as if they had always been in force.
[[nodiscard]] LoggedSettings present_settings(config::Run const& run, config::Site const& present);

/// Returns how long a site's job may run after the poller's last permission, in real time.
[[nodiscard]] Millis longest_silence(config::Site const& site);

/// Names the settings in which two site files differ and on which a bill depends, such as `power,
/// region`. The text is empty if the bills are the same.
[[nodiscard]] std::string differences(config::Site const& a, config::Site const& b);
/// The same for two paces.
[[nodiscard]] std::string differences(PaceInForce const& a, PaceInForce const& b);

}  // namespace curtail::account
