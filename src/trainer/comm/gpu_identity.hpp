// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "trainer/comm/collectives.hpp"
#include "trainer/comm/nccl_api.hpp"

namespace curtail::comm {

/// What identifies a GPU. A text is empty if it is unknown.
struct GpuIdentity {
    std::string name;    ///< as the driver calls it, e.g. "NVIDIA H100 80GB HBM3"
    std::string bus_id;  ///< its address on its node's PCI bus, e.g. "0000:1B:00.0"
};
/// Returns the identity of CUDA's GPU number `device`.
[[nodiscard]] GpuIdentity gpu_identity(NcclApi const& api, int device);

/// Returns two ranks of `ranks` that use the same GPU, the same two on every rank, or an empty
/// optional if there are none. `bus_id` is that of this rank's GPU; an empty one equals no other.
/// Compares what NCCL compares: the bus ids, and the nodes. If the environment variable NCCL_HOSTID
/// is set, its value replaces the identity of the node. Every rank must call this function. Throws
/// CommError.
[[nodiscard]] std::optional<std::pair<int, int>> ranks_on_one_gpu(Collectives& ranks,
                                                                  std::string const& bus_id);

}  // namespace curtail::comm
