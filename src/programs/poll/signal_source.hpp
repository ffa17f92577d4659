// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "poller/poll/poll.hpp"
#include "programs/poll/options.hpp"

namespace curtail::programs {

/// A run to poll, with some or all of its sites. The caller owns the run and its sites.
struct PollTarget {
    config::Run const& run;
    std::vector<config::Site const*> sites;  ///< elements of run.sites, never null
    std::string folder_id;  ///< id by which the poller recognizes the jobs of the run's folder
};

/// Returns the folder whose bin/ contains this program.
[[nodiscard]] std::filesystem::path build_folder();

/// Gives each site the signal provider that `options` choose, and the site's own launcher. The run
/// and its sites must outlive the result.
///
/// Fails with `permission` if others can change what the poller or its jobs read or run
/// (trusted_files.hpp).
///
/// A run follows either live signals or one replay, never both. Fails with `config` if `options`
/// contradict what the run has followed so far. For the first poll of a replay, creates the file
/// clock.json in the run's folder (base/core/clock_file.hpp); a dry run does not create it.
[[nodiscard]] Result<poll::PollContext> make_context(PollTarget const& target,
                                                     PollOptions const& options, Log const& log);

}  // namespace curtail::programs
