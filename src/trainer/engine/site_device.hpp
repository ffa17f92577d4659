// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Device.h>

#include <memory>

#include "base/core/log.hpp"
#include "base/core/result.hpp"
#include "run/config/run.hpp"
#include "run/config/site.hpp"
#include "trainer/comm/collectives.hpp"
#include "trainer/comm/gpu_identity.hpp"
#include "trainer/comm/patience.hpp"

namespace curtail::trainer {

/// Returns the device of the rank with this number on its node. The ranks of a node use its GPUs in
/// turn: rank r uses GPU r. If the rank sees only one GPU, it uses that one; see also
/// require_own_gpus(). Fails with `unavailable` if this program or the node has no GPU, or too few,
/// or if the GPU cannot be used; with `config` if the operators for GPUs cannot compute `model`.
[[nodiscard]] Result<c10::Device> site_device(config::Site const& site, config::Model const& model,
                                              int rank_on_node);

/// Returns the identity of `device`. Its texts are empty for a CPU.
[[nodiscard]] comm::GpuIdentity identity_of(c10::Device device);

/// Warns if `device` is a GPU and the run's Muon computes in float32, which makes steps longer.
void warn_of_float32_muon(config::OptimizerSettings const& optimizer, c10::Device device,
                          Log const& log);

/// Fails with `unavailable` on all ranks if two of them use the same GPU (comm::ranks_on_one_gpu).
/// Every rank of `host` must call this function, with its device.
[[nodiscard]] Result<void> require_own_gpus(comm::Collectives& host, c10::Device device);

/// Returns collectives for tensors on `device`, which use `host` for everything else. Returns null
/// if `host` itself is enough: on a CPU, and for a single rank. Every rank of `host` must call this
/// function. `host` must outlive the result.
[[nodiscard]] std::unique_ptr<comm::Collectives> device_collectives(comm::Collectives& host,
                                                                    c10::Device device,
                                                                    comm::Patience patience);

}  // namespace curtail::trainer
