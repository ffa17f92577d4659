// SPDX-License-Identifier: Apache-2.0
#pragma once

// The functions of NCCL and of the CUDA runtime that this library calls, as a table. Tests supply
// another table, so that they need no GPU. The types mirror those of nccl.h and cuda_runtime.h,
// which only nccl_api_real.cpp includes.

#include <array>
#include <cstddef>

namespace curtail::comm {

/// ncclResult_t
enum class NcclResult : int {
    success = 0,
    unhandled_cuda_error = 1,
    system_error = 2,
    internal_error = 3,
    invalid_argument = 4,
    invalid_usage = 5,
    remote_error = 6,
    in_progress = 7,
};

/// cudaError_t; only the values that this library distinguishes
enum class CudaResult : int {
    success = 0,
    not_ready = 600,  ///< cudaErrorNotReady
};

/// ncclUniqueId
struct NcclId {
    std::array<char, 128> bytes;
};

struct NcclComm;    ///< what ncclComm_t points to; never defined
struct CudaStream;  ///< what cudaStream_t points to; never defined
struct CudaEvent;   ///< what cudaEvent_t points to; never defined

/// Each function behaves as the one of NCCL or CUDA that its comment names. Streams and events
/// belong to the device that was current when they were created. A null CudaStream is the default
/// stream. Communicators are nonblocking: a function may return in_progress, and then
/// comm_get_async_error tells when it is done. No other function may be called before. Only
/// comm_destroy and comm_abort can block; they invalidate the communicator.
struct NcclApi {
    NcclResult (*get_unique_id)(NcclId* id);  ///< ncclGetUniqueId
    /// ncclCommInitRankConfig, with blocking = 0, on the current device
    NcclResult (*comm_init)(NcclComm** comm, int ranks, NcclId const* id, int rank);
    /// ncclCommGetAsyncError
    NcclResult (*comm_get_async_error)(NcclComm* comm, NcclResult* state);
    NcclResult (*comm_finalize)(NcclComm* comm);  ///< ncclCommFinalize
    NcclResult (*comm_destroy)(NcclComm* comm);   ///< ncclCommDestroy
    NcclResult (*comm_abort)(NcclComm* comm);     ///< ncclCommAbort
    /// ncclAllReduce of float32 with ncclSum
    NcclResult (*all_reduce_sum)(float const* from, float* to, std::size_t count, NcclComm* comm,
                                 CudaStream* stream);
    /// ncclReduceScatter of float32 with ncclSum; `count` is that of `to`
    NcclResult (*reduce_scatter_sum)(float const* from, float* to, std::size_t count,
                                     NcclComm* comm, CudaStream* stream);
    /// ncclAllGather of float32; `count` is that of `from`
    NcclResult (*all_gather)(float const* from, float* to, std::size_t count, NcclComm* comm,
                             CudaStream* stream);
    /// ncclBroadcast of float32
    NcclResult (*broadcast)(float const* from, float* to, std::size_t count, int root,
                            NcclComm* comm, CudaStream* stream);
    char const* (*error_text)(NcclResult result);  ///< ncclGetErrorString
    char const* (*last_error)(NcclComm* comm);     ///< ncclGetLastError

    CudaResult (*set_device)(int device);  ///< cudaSetDevice
    /// cudaDeviceGetPCIBusId: writes text of at most `size` bytes, with its final zero, to `text`
    CudaResult (*device_bus_id)(char* text, int size, int device);
    /// cudaGetDeviceProperties: writes the device's name as device_bus_id does
    CudaResult (*device_name)(char* text, int size, int device);
    /// cudaStreamCreateWithPriority: the highest priority, without implicit synchronization with
    /// the default stream
    CudaResult (*stream_create)(CudaStream** stream);
    CudaResult (*stream_destroy)(CudaStream* stream);                       ///< cudaStreamDestroy
    CudaResult (*stream_wait_event)(CudaStream* stream, CudaEvent* event);  ///< cudaStreamWaitEvent
    CudaResult (*event_create)(CudaEvent** event);  ///< cudaEventCreateWithFlags, without timing
    CudaResult (*event_destroy)(CudaEvent* event);  ///< cudaEventDestroy
    CudaResult (*event_record)(CudaEvent* event, CudaStream* stream);  ///< cudaEventRecord
    CudaResult (*event_query)(CudaEvent* event);                       ///< cudaEventQuery
    char const* (*cuda_error_text)(CudaResult result);                 ///< cudaGetErrorString
};

/// Returns the functions of the NCCL and CUDA libraries. Returns null in builds without the CMake
/// option CURTAIL_GPU.
[[nodiscard]] NcclApi const* nccl_api();

}  // namespace curtail::comm
