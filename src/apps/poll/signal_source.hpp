// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/poll/options.hpp"
#include "poll/poll.hpp"

namespace curtail::apps {

/// A run, the sites to poll and how their jobs are identified.
struct PollTarget {
    config::Run const& run;
    std::vector<config::Site const*> sites;
    std::string folder_id;  ///< of the run's folder
};

/// Connects every site to the signal source of the options and to its launcher.
///
/// `config` if the run has a clock of the other type: a run follows either live signals or one
/// replay. Unless it is a dry run, a trace fixes the run's clock here.
[[nodiscard]] Result<poll::PollContext> make_context(PollTarget const& target,
                                                     PollOptions const& options, Log const& log);

}  // namespace curtail::apps
