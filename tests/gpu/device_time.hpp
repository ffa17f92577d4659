// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Device.h>

#include <functional>

namespace curtail::check {

/// Waits until `device` has done its work so far.
void wait_for(c10::Device device);

/// Returns the seconds of one call on `device`: the median of three series, each of as many calls
/// as fill a third of `enough_s`. Calls it once before, unmeasured.
[[nodiscard]] double seconds_of(std::function<void()> const& call, c10::Device device,
                                double enough_s);

}  // namespace curtail::check
