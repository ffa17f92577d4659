// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstring>

#include "trainer/comm/nccl_api.hpp"

namespace curtail::comm {
namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs)
{
    return static_cast<int>(ours) == static_cast<int>(theirs);
}

static_assert(same(NcclResult::success, ncclSuccess));
static_assert(same(NcclResult::unhandled_cuda_error, ncclUnhandledCudaError));
static_assert(same(NcclResult::system_error, ncclSystemError));
static_assert(same(NcclResult::internal_error, ncclInternalError));
static_assert(same(NcclResult::invalid_argument, ncclInvalidArgument));
static_assert(same(NcclResult::invalid_usage, ncclInvalidUsage));
static_assert(same(NcclResult::remote_error, ncclRemoteError));
static_assert(same(NcclResult::in_progress, ncclInProgress));
static_assert(sizeof(NcclResult) == sizeof(ncclResult_t));
static_assert(same(CudaResult::success, cudaSuccess));
static_assert(same(CudaResult::not_ready, cudaErrorNotReady));
static_assert(sizeof(CudaResult) == sizeof(cudaError_t));
static_assert(sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(sizeof(NcclId::bytes) == NCCL_UNIQUE_ID_BYTES);

NcclResult ours(ncclResult_t result) { return static_cast<NcclResult>(result); }
CudaResult ours(cudaError_t result) { return static_cast<CudaResult>(result); }
ncclComm_t theirs(NcclComm* comm) { return reinterpret_cast<ncclComm_t>(comm); }
cudaStream_t theirs(CudaStream* stream) { return reinterpret_cast<cudaStream_t>(stream); }
cudaEvent_t theirs(CudaEvent* event) { return reinterpret_cast<cudaEvent_t>(event); }

NcclResult get_unique_id(NcclId* id)
{
    ncclUniqueId unique{};
    auto const result = ncclGetUniqueId(&unique);
    std::memcpy(id->bytes.data(), unique.internal, sizeof unique.internal);
    return ours(result);
}

NcclResult comm_init(NcclComm** comm, int ranks, NcclId const* id, int rank)
{
    ncclUniqueId unique{};
    std::memcpy(unique.internal, id->bytes.data(), sizeof unique.internal);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t made = nullptr;
    auto const result = ncclCommInitRankConfig(&made, ranks, unique, rank, &config);
    *comm = reinterpret_cast<NcclComm*>(made);
    return ours(result);
}

NcclResult comm_get_async_error(NcclComm* comm, NcclResult* state)
{
    ncclResult_t found = ncclSuccess;
    auto const result = ncclCommGetAsyncError(theirs(comm), &found);
    *state = ours(found);
    return ours(result);
}

NcclResult comm_finalize(NcclComm* comm) { return ours(ncclCommFinalize(theirs(comm))); }
NcclResult comm_destroy(NcclComm* comm) { return ours(ncclCommDestroy(theirs(comm))); }
NcclResult comm_abort(NcclComm* comm) { return ours(ncclCommAbort(theirs(comm))); }

NcclResult all_reduce_sum(float const* from, float* to, std::size_t count, NcclComm* comm,
                          CudaStream* stream)
{
    return ours(ncclAllReduce(from, to, count, ncclFloat32, ncclSum, theirs(comm), theirs(stream)));
}

NcclResult reduce_scatter_sum(float const* from, float* to, std::size_t count, NcclComm* comm,
                              CudaStream* stream)
{
    return ours(
        ncclReduceScatter(from, to, count, ncclFloat32, ncclSum, theirs(comm), theirs(stream)));
}

NcclResult all_gather(float const* from, float* to, std::size_t count, NcclComm* comm,
                      CudaStream* stream)
{
    return ours(ncclAllGather(from, to, count, ncclFloat32, theirs(comm), theirs(stream)));
}

NcclResult broadcast(float const* from, float* to, std::size_t count, int root, NcclComm* comm,
                     CudaStream* stream)
{
    return ours(ncclBroadcast(from, to, count, ncclFloat32, root, theirs(comm), theirs(stream)));
}

char const* error_text(NcclResult result)
{
    return ncclGetErrorString(static_cast<ncclResult_t>(result));
}

char const* last_error(NcclComm* comm) { return ncclGetLastError(theirs(comm)); }

CudaResult set_device(int device) { return ours(cudaSetDevice(device)); }

CudaResult device_bus_id(char* text, int size, int device)
{
    return ours(cudaDeviceGetPCIBusId(text, size, device));
}

CudaResult device_name(char* text, int size, int device)
{
    cudaDeviceProp properties{};
    auto const result = cudaGetDeviceProperties(&properties, device);
    std::snprintf(text, static_cast<std::size_t>(size), "%s", properties.name);
    return ours(result);
}

CudaResult stream_create(CudaStream** stream)
{
    int lowest = 0;
    int highest = 0;
    if (auto const result = cudaDeviceGetStreamPriorityRange(&lowest, &highest);
        result != cudaSuccess)
        return ours(result);
    cudaStream_t made = nullptr;
    auto const result = cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, highest);
    *stream = reinterpret_cast<CudaStream*>(made);
    return ours(result);
}

CudaResult stream_destroy(CudaStream* stream) { return ours(cudaStreamDestroy(theirs(stream))); }

CudaResult stream_wait_event(CudaStream* stream, CudaEvent* event)
{
    return ours(cudaStreamWaitEvent(theirs(stream), theirs(event), 0));
}

CudaResult event_create(CudaEvent** event)
{
    cudaEvent_t made = nullptr;
    auto const result = cudaEventCreateWithFlags(&made, cudaEventDisableTiming);
    *event = reinterpret_cast<CudaEvent*>(made);
    return ours(result);
}

CudaResult event_destroy(CudaEvent* event) { return ours(cudaEventDestroy(theirs(event))); }

CudaResult event_record(CudaEvent* event, CudaStream* stream)
{
    return ours(cudaEventRecord(theirs(event), theirs(stream)));
}

CudaResult event_query(CudaEvent* event)
{
    auto const result = cudaEventQuery(theirs(event));
    // CUDA also keeps this result as its last error, which others would take for theirs.
    if (result == cudaErrorNotReady) (void)cudaGetLastError();
    return ours(result);
}

char const* cuda_error_text(CudaResult result)
{
    return cudaGetErrorString(static_cast<cudaError_t>(result));
}

constexpr NcclApi api{.get_unique_id = get_unique_id,
                      .comm_init = comm_init,
                      .comm_get_async_error = comm_get_async_error,
                      .comm_finalize = comm_finalize,
                      .comm_destroy = comm_destroy,
                      .comm_abort = comm_abort,
                      .all_reduce_sum = all_reduce_sum,
                      .reduce_scatter_sum = reduce_scatter_sum,
                      .all_gather = all_gather,
                      .broadcast = broadcast,
                      .error_text = error_text,
                      .last_error = last_error,
                      .set_device = set_device,
                      .device_bus_id = device_bus_id,
                      .device_name = device_name,
                      .stream_create = stream_create,
                      .stream_destroy = stream_destroy,
                      .stream_wait_event = stream_wait_event,
                      .event_create = event_create,
                      .event_destroy = event_destroy,
                      .event_record = event_record,
                      .event_query = event_query,
                      .cuda_error_text = cuda_error_text};

}  // namespace

NcclApi const* nccl_api() { return &api; }

}  // namespace curtail::comm
