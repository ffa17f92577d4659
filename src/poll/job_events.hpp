// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "core/ids.hpp"
#include "plan/update.hpp"
#include "runlog/event.hpp"

namespace curtail::poll {

/// Converts the plan's job events to the events that the poller logs (docs/poller.md). Each logged
/// event has the time `real_now`. A time that the launcher stated becomes a detail of the event.
[[nodiscard]] std::vector<runlog::Event> job_events(SiteId const& site,
                                                    std::vector<plan::JobEvent> const& events,
                                                    Time real_now);

}  // namespace curtail::poll
