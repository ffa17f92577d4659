// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "core/ids.hpp"
#include "plan/update.hpp"
#include "runlog/event.hpp"

namespace curtail::poll {

/// Converts plan::JobEvent objects to the events that the poller writes to events.jsonl
/// (docs/poller.md). Each result has the time `real_now`. JobEvent::time, if known, becomes a
/// detail of the result.
[[nodiscard]] std::vector<runlog::Event> job_events(SiteId const& site,
                                                    std::vector<plan::JobEvent> const& events,
                                                    Time real_now);

}  // namespace curtail::poll
