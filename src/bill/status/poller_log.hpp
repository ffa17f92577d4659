// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "run/runlog/event.hpp"
#include "run/runlog/poller_state.hpp"

namespace curtail::status {

/// Completes what is known about a site with what its poller logged: the window, the jobs, the last
/// failure and the poller's hold. `events` must be in the order in which the poller wrote them.
/// Does no I/O. All texts pass through printable() (base/core/text.hpp).
void take_poller_events(runlog::PollerSite& site, std::vector<runlog::Event> const& events);

}  // namespace curtail::status
