// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Device.h>

#include <functional>

#include "gpu/operations.hpp"
#include "trainer/comm/nccl_api.hpp"

namespace curtail::check {

/// Makes a communicator of this process alone, calls each of its operations on 2^26 floats on
/// `device`, checks the results and measures the times. Then ends it, and gives another one up in
/// the middle of its work. Calls `visit` for each of these. Fails with `software` if a result is
/// wrong. Throws comm::CommError if NCCL fails. `device` is a GPU, or the CPU with a double of
/// NCCL.
[[nodiscard]] Result<void> check_nccl(comm::NcclApi const& api, c10::Device device,
                                      double seconds_per_time,
                                      std::function<void(Operation const&)> const& visit);

}  // namespace curtail::check
