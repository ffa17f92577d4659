// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "comm/collectives.hpp"

namespace curtail::comm {

/// Collectives over all ranks that MPI started, on their own communicator. MPI must be running and
/// outlive them.
[[nodiscard]] std::unique_ptr<Collectives> mpi_collectives();

}  // namespace curtail::comm
