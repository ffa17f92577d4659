// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "base/core/units.hpp"
#include "trainer/comm/collectives.hpp"
#include "trainer/comm/nccl_api.hpp"

namespace curtail::comm {

/// The GPU of a rank, and how long to wait for it.
struct NcclOptions {
    int device{0};                 ///< CUDA's number of this rank's GPU, which no other rank uses
    CudaStream* compute{nullptr};  ///< the stream of the caller's work; null: the default stream
    Patience patience{};           ///< as for Collectives::set_patience()
    /// How long NCCL may take to give up all operations after a failure.
    Millis abort_limit{5000};
};

/// Returns collectives that exchange floats between GPUs over NCCL, and all else over `host`. They
/// change the patience of `host`. Every rank of `host` must call this function. It waits for the
/// others, and makes `options.device` the calling thread's device. `host`, `api` and the compute
/// stream must outlive the result.
///
/// Operations on floats run on a stream of their own (see Collectives). The first ones may wait for
/// the other ranks, because NCCL connects them when it needs to. Every call asks NCCL for failures
/// of the operations before it. After a failure, the call makes NCCL give up all operations, so
/// that the GPU does not wait for the other ranks, and throws:
///  - CommTimeout if a call, or an operation on the device, waits longer than the patience allows;
///  - CommError with the code `unavailable` if this rank has no GPU `options.device`, or if NCCL
///    reports a failure of another rank or of the network (ncclRemoteError), and with `temporary`
///    for other failures of NCCL and CUDA;
///  - CommStuck if NCCL does not give up within `abort_limit`.
/// Later calls throw CommError. The results of operations that a call of synchronize() has waited
/// for remain correct; all others are undefined.
///
/// For an operation on the device, the patience counts from the last moment at which an operation
/// became done, or from the call if there was none to wait for. Only time is counted in which the
/// host calls these functions: at most one second between two calls (see WaitTimer).
///
/// Copies, by all_gather() and broadcast(), are exact. All ranks get the same bits from
/// all_reduce_sum(). The order of summation is NCCL's. It depends on the size of the buffers, the
/// number of GPUs and their connections, the version of NCCL and its settings. NCCL documents no
/// more than that. According to its developers, sums have the same bits in every run if all these
/// are the same and NCCL adds on the GPUs (rings and trees). If it adds in NVLink switches (NVLS),
/// they may differ from call to call; NCCL_NVLS_ENABLE=0 prevents that.
///
/// Throws CommError with the code `config` if NCCL_COMM_BLOCKING=1 is set: NCCL would wait for
/// other ranks without limit.
///
/// The destructor waits for the other ranks, as long as the patience allows, and then lets NCCL
/// give up. While an exception is unwinding the stack, it does not wait.
[[nodiscard]] std::unique_ptr<Collectives> nccl_collectives(Collectives& host, NcclApi const& api,
                                                            NcclOptions options);

}  // namespace curtail::comm
