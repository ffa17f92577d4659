// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "trainer/comm/collectives.hpp"

namespace curtail::comm {

/// The tags of the messages with which reduce_scatter_sum() and all_gather() exchange values.
inline constexpr int reduction_tag = 1;
inline constexpr int gather_tag = 2;

/// Returns collectives over all ranks that MPI started. They use their own MPI communicator. MPI
/// must be running as long as the collectives exist. Memory is host memory.
[[nodiscard]] std::unique_ptr<Collectives> mpi_collectives();

}  // namespace curtail::comm
