// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

#include "poller/signals/provider.hpp"
#include "run/samples/trace.hpp"

namespace curtail::signals {

/// A provider that returns the samples of a trace. The poller asks only for samples up to the
/// current time of the replay, so it never sees a later sample.
class TraceProvider final : public Provider {
  public:
    explicit TraceProvider(samples::Trace trace) : trace_(std::move(trace)) {}
    [[nodiscard]] Answer samples(RegionId const& region, Time from, Time to) override;

  private:
    samples::Trace trace_;
};

}  // namespace curtail::signals
