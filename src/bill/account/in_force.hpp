// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "run/config/site.hpp"
#include "run/runlog/event.hpp"

namespace curtail::account {

/// A site's settings, and from when on they were in force.
struct SettingsInForce {
    Time from;  ///< real time; Time::min() for the first settings of a site
    config::Site site;
};

/// A site's settings over time, as the logs of its poller or its trainers have them.
struct LoggedSettings {
    /// In order of time. Without a log, the present settings alone. Adjoining settings differ in
    /// something that the bill depends on.
    std::vector<SettingsInForce> all;
    bool is_logged{false};
    Time logged{};  ///< real time of the last log, if there is one
    /// Returns the settings that were in force at a real time.
    [[nodiscard]] config::Site const& at(Time time) const;
    /// Returns those that were in force last.
    [[nodiscard]] config::Site const& last() const { return all.back().site; }

    std::string file{};      ///< name of the last logged site file
    std::string run_file{};  ///< text of the last logged run file
    std::string problem{};   ///< which logged settings cannot be used, and why; for people
};

/// Finds the settings of a site in the events of its poller. A site without a poller has those of
/// its trainers, `own`. `present` are its settings today.
[[nodiscard]] LoggedSettings logged_settings(config::Site const& present,
                                             std::vector<runlog::Event> const& poller,
                                             std::vector<runlog::Event> const& own);

/// Names the settings in which two site files differ and on which a bill depends, such as `power,
/// region`. The text is empty if the bills are the same.
[[nodiscard]] std::string differences(config::Site const& a, config::Site const& b);

}  // namespace curtail::account
