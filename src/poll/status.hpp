// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/json.hpp"
#include "plan/action.hpp"
#include "windows/detector.hpp"

namespace curtail::poll {

/// What a poll found out about the signal and window of a site.
struct SignalStatus {
    bool requested{true};  ///< false: no provider; time and phase are those of the last evaluation
    Time time;             ///< of the evaluation, on the signals' clock
    std::optional<GramsPerKwh> intensity;  ///< of the fresh sample
    std::optional<Time> sample_time;       ///< of the newest sample, fresh or not
    bool sample_is_empty{false};           ///< the provider reported that it has no value
    std::string provider;
    windows::Phase phase{windows::Phase::closed};
    std::string why;             ///< reason for the phase
    std::optional<Error> error;  ///< of the provider or this machine's clock
};

/// What a poll found out about the jobs of a site.
struct JobStatus {
    std::optional<WindowId> window;     ///< the open one
    std::vector<plan::Job> jobs;        ///< that have not ended
    std::vector<plan::Action> actions;  ///< next actions; in a dry run not carried out
    std::optional<Error> list_error;    ///< the launcher does not answer
    std::optional<Error> action_error;  ///< the last action failed, or may have failed
    std::string warning;                ///< about these jobs; no error
};

/// The result of a poll of one site, for `--explain`.
struct SiteStatus {
    SiteId site;
    RegionId region;
    SignalStatus signal;
    JobStatus jobs;
    [[nodiscard]] std::vector<Error> errors() const;
};

/// A paragraph per site for the user. In a dry run the actions are those that a poll would take.
[[nodiscard]] std::string explain(std::vector<SiteStatus> const& sites, bool dry_run);
/// The same as JSON:
/// `{"sites":[{"site","region","signal_time","intensity_gco2_per_kwh","age_s","provider","phase",
/// "window","why","jobs":[{"job","state","reason","window"}],
/// "actions":[{"action","job","window","why"}],"trouble":[...]}]}`, where `trouble` lists errors
/// and warnings.
[[nodiscard]] json::Value to_json(std::vector<SiteStatus> const& sites);

}  // namespace curtail::poll
