// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "poller/plan/action.hpp"
#include "run/windows/detector.hpp"

namespace curtail::poll {

/// What a poll found out about the signal and the window of a site.
struct SignalStatus {
    /// Whether the poll requested samples from a provider. If not, time and phase are those of the
    /// last evaluation.
    bool requested{true};
    Time time;                             ///< time of the evaluation, on the signal's clock
    std::optional<GramsPerKwh> intensity;  ///< intensity at `time`; empty if it is unknown
    std::optional<Time> sample_time;       ///< time of the newest sample, even if it is no longer
                                           ///< valid; empty if there is no sample
    bool sample_is_empty{false};  ///< the newest sample says that the provider had no value
    std::string provider;
    windows::Phase phase{windows::Phase::closed};
    std::string why;             ///< why the window has this phase
    std::optional<Error> error;  ///< the error of the provider or of check_clock()
};

/// A trainer that is active at the site, in a job that this poller neither submitted nor adopted.
struct OtherTrainer {
    std::string job;            ///< the job's id; empty if the trainer was started without a job
    std::optional<Time> since;  ///< real time of its start; empty if it is not known
    friend bool operator==(OtherTrainer const&, OtherTrainer const&) = default;
};

/// What a poll found out about the jobs of a site.
struct JobStatus {
    std::optional<WindowId> window;     ///< the window in which jobs may run; empty if none
    std::vector<plan::Job> jobs;        ///< the jobs that have not ended
    std::vector<plan::Action> actions;  ///< the next actions; a dry run does not carry them out
    std::optional<Error> list_error;    ///< why the launcher could not list the jobs
    /// The error of a failed action. If the poller waits before the next submission, because
    /// earlier jobs or submissions failed: the last failure, and the time until the next try.
    std::optional<Error> action_error;
    std::string warning;  ///< a warning about `jobs`, not an error; empty if there is none
    std::optional<OtherTrainer> other_trainer{};  ///< e.g. of a job that a person submitted
};

/// What a poll found out about one site. `--explain` prints it.
struct PollFindings {
    SiteId site;
    RegionId region;
    SignalStatus signal;
    JobStatus jobs;
    /// Returns the errors of the signal and of the jobs.
    [[nodiscard]] std::vector<Error> errors() const;
};

/// Returns a text for the user, with one paragraph per site. If `dry_run` is set, the text says
/// that a poll would carry out the actions.
[[nodiscard]] std::string explain(std::vector<PollFindings> const& sites, bool dry_run);
/// Returns the status of the sites as JSON:
/// `{"sites":[{"site","region","signal_time","intensity_gco2_per_kwh","age_s","provider","phase",
/// "window","why","jobs":[{"job","state","reason","window"}],
/// "other_trainer":{"job","since"},"actions":[{"action","job","window","why"}],"trouble":[...]}]}`.
/// `other_trainer` is null if there is none. `trouble` lists errors and warnings. `age_s` is the
/// age of the newest sample at `signal_time`, on the signal's clock.
[[nodiscard]] json::Value to_json(std::vector<PollFindings> const& sites);

}  // namespace curtail::poll
