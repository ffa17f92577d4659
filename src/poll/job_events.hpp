// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "core/ids.hpp"
#include "plan/update.hpp"
#include "runlog/event.hpp"

namespace curtail::poll {

/// Converts the plan's job events to the events that the poller logs (docs/poller.md). `real_now`
/// becomes the events' time.
[[nodiscard]] std::vector<runlog::Event> job_events(SiteId const& site,
                                                    std::vector<plan::JobEvent> const& events,
                                                    Time real_now);

}  // namespace curtail::poll
