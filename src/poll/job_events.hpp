// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "core/ids.hpp"
#include "plan/update.hpp"
#include "runlog/event.hpp"

namespace curtail::poll {

/// The plan's job events as events of the poller (docs/poller.md).
[[nodiscard]] std::vector<runlog::Event> job_events(SiteId const& site,
                                                    std::vector<plan::JobEvent> const& events,
                                                    Time real_now);

}  // namespace curtail::poll
