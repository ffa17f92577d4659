// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "bill/account/timeline.hpp"
#include "run/runlog/poller_events.hpp"

// What the accounting of a site's Slurm cluster says about the site's jobs. The poller logs the
// answers.
namespace curtail::account {

/// The newest answer about one job that has started.
struct AccountedJob {
    runlog::Accounting::Job job;
    energy::Interval when;  ///< in real time; up to the answer if the job had not ended
};
/// Returns the jobs of a site, by their numbers and starts. A cluster may use a number again.
[[nodiscard]] std::vector<AccountedJob> accounted_jobs(std::vector<Event> const& poller,
                                                       SiteId const& site);

/// Says for people when the accounting answered last, or why it did not. Empty if nobody has asked.
[[nodiscard]] std::string last_answer(std::vector<Event> const& poller, SiteId const& site);

/// Adds up Slurm's energy of the jobs in `jobs` that have ended. Returns an empty optional if there
/// are none.
[[nodiscard]] std::optional<SlurmEnergy> slurm_energy(std::vector<AccountedJob> const& jobs,
                                                      SiteTimeline const& site);

}  // namespace curtail::account
