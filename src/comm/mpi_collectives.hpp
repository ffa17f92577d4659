// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "comm/collectives.hpp"

namespace curtail::comm {

/// Returns collectives over all ranks that MPI started. They use their own MPI communicator. MPI
/// must be running as long as the collectives exist.
[[nodiscard]] std::unique_ptr<Collectives> mpi_collectives();

}  // namespace curtail::comm
