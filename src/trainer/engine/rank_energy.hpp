// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Device.h>

#include <functional>
#include <optional>

#include "trainer/comm/mpi_session.hpp"

namespace curtail::trainer {

/// Returns a function that reads the meters of a rank: that of its GPU and, on the first rank of a
/// node, those of the node's processors. The function returns the energy in joules since its last
/// call, or since this function. It returns an empty optional if a meter cannot be read.
[[nodiscard]] std::function<std::optional<double>()> rank_energy(c10::Device device,
                                                                 comm::PlaceOnNode on_node);

}  // namespace curtail::trainer
