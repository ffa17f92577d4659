// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/nccl_double.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "trainer/comm/nccl_double_state.hpp"

namespace curtail::test {

using comm::CudaEvent;
using comm::CudaResult;
using comm::CudaStream;
using comm::NcclComm;
using comm::NcclId;
using comm::NcclResult;

namespace {

// Functions of the table have no argument for it.
NcclDouble::State* active = nullptr;

constexpr char const* id_text = "the id of rank 0";

CudaStream& stream_of(CudaStream* stream) { return stream == nullptr ? active->compute : *stream; }

int count_of(std::size_t count) { return static_cast<int>(count); }

NcclResult get_unique_id(NcclId* id)
{
    active->called("get_unique_id");
    std::strncpy(id->bytes.data(), id_text, id->bytes.size());
    return active->faults.id;
}

NcclResult comm_init(NcclComm** comm, int ranks, NcclId const* id, int rank)
{
    int size = 0;
    int own = 0;
    MPI_Comm_size(active->ranks, &size);
    MPI_Comm_rank(active->ranks, &own);
    bool const right = std::strcmp(id->bytes.data(), id_text) == 0 && ranks == size && rank == own;
    active->called("comm_init");
    if (active->faults.init != NcclResult::success) return active->faults.init;
    if (!right) return NcclResult::invalid_argument;
    active->communicator = std::make_unique<NcclComm>();
    *comm = active->communicator.get();
    active->communicator->stays_in_progress = active->faults.init_hangs;
    auto const begun = active->begin(*active->communicator, [] {});
    return active->faults.init_hangs ? NcclResult::in_progress : begun;
}

NcclResult comm_get_async_error(NcclComm* comm, NcclResult* state)
{
    if (active->forbidden(comm, true)) return NcclResult::invalid_argument;
    *state = active->poll(*comm);
    return NcclResult::success;
}

NcclResult comm_finalize(NcclComm* comm)
{
    active->called("comm_finalize");
    if (active->forbidden(comm)) return NcclResult::invalid_usage;
    comm->stays_in_progress = active->faults.finalize_hangs;
    auto const begun = active->begin(*comm, [] {});
    return active->faults.finalize_hangs ? NcclResult::in_progress : begun;
}

NcclResult comm_destroy(NcclComm* comm)
{
    active->called("comm_destroy");
    if (active->forbidden(comm)) return NcclResult::invalid_usage;
    comm->released = true;
    return NcclResult::success;
}

NcclResult comm_abort(NcclComm* comm)
{
    active->called("comm_abort");
    if (active->forbidden(comm, true)) return NcclResult::invalid_argument;
    comm->released = true;
    for (auto const& stream : active->streams) stream->work.clear();
    for (auto const& event : active->events) event->reached = event->recorded;
    return NcclResult::success;
}

NcclResult all_reduce_sum(float const* from, float* to, std::size_t count, NcclComm* comm,
                          CudaStream* stream)
{
    return active->operation("all_reduce_sum", comm, stream, [=](MPI_Request* request) {
        return MPI_Iallreduce(from == to ? MPI_IN_PLACE : from, to, count_of(count), MPI_FLOAT,
                              MPI_SUM, active->ranks, request);
    });
}

NcclResult reduce_scatter_sum(float const* from, float* to, std::size_t count, NcclComm* comm,
                              CudaStream* stream)
{
    return active->operation("reduce_scatter_sum", comm, stream, [=](MPI_Request* request) {
        return MPI_Ireduce_scatter_block(from, to, count_of(count), MPI_FLOAT, MPI_SUM,
                                         active->ranks, request);
    });
}

NcclResult all_gather(float const* from, float* to, std::size_t count, NcclComm* comm,
                      CudaStream* stream)
{
    return active->operation("all_gather", comm, stream, [=](MPI_Request* request) {
        int rank = 0;
        MPI_Comm_rank(active->ranks, &rank);
        bool const in_place = from == to + static_cast<std::size_t>(rank) * count;
        return MPI_Iallgather(in_place ? MPI_IN_PLACE : from, count_of(count), MPI_FLOAT, to,
                              count_of(count), MPI_FLOAT, active->ranks, request);
    });
}

NcclResult broadcast(float const* from, float* to, std::size_t count, int root, NcclComm* comm,
                     CudaStream* stream)
{
    return active->operation("broadcast", comm, stream, [=](MPI_Request* request) {
        int rank = 0;
        MPI_Comm_rank(active->ranks, &rank);
        if (rank == root && from != to) std::copy_n(from, count, to);
        return MPI_Ibcast(to, count_of(count), MPI_FLOAT, root, active->ranks, request);
    });
}

char const* error_text(NcclResult result)
{
    return result == NcclResult::remote_error ? "remote process exited or there was a network error"
                                              : "a failure";
}

char const* last_error(NcclComm*) { return "details"; }

CudaResult set_device(int device)
{
    active->called("set_device " + std::to_string(device));
    return device >= 0 ? CudaResult::success : static_cast<CudaResult>(101);
}

CudaResult device_bus_id(char* text, int size, int device)
{
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", device);
    return CudaResult::success;
}

CudaResult device_name(char* text, int size, int device)
{
    std::snprintf(text, static_cast<std::size_t>(size), "NVIDIA H100 PCIe");
    return device >= 0 ? CudaResult::success : static_cast<CudaResult>(101);
}

CudaResult stream_create(CudaStream** stream)
{
    active->streams.push_back(std::make_unique<CudaStream>(CudaStream{"nccl"}));
    *stream = active->streams.back().get();
    return CudaResult::success;
}

template <class T>
CudaResult destroy(std::vector<T>& all, void const* one)
{
    auto const removed = std::erase_if(all, [&](auto const& each) { return each.get() == one; });
    return removed == 1 ? CudaResult::success : static_cast<CudaResult>(400);
}

CudaResult stream_destroy(CudaStream* stream) { return destroy(active->streams, stream); }

CudaResult stream_wait_event(CudaStream* stream, CudaEvent* event)
{
    active->called(stream_of(stream).name + " waits");
    stream_of(stream).work.push_back(
        [event = event->shared_from_this(), awaited = event->recorded] {
            return event->reached >= awaited;
        });
    return CudaResult::success;
}

CudaResult event_create(CudaEvent** event)
{
    active->events.push_back(std::make_shared<CudaEvent>());
    *event = active->events.back().get();
    return CudaResult::success;
}

CudaResult event_destroy(CudaEvent* event) { return destroy(active->events, event); }

CudaResult event_record(CudaEvent* event, CudaStream* stream)
{
    active->called("event on " + stream_of(stream).name);
    stream_of(stream).work.push_back(
        [event = event->shared_from_this(), record = ++event->recorded] {
            event->reached = record;
            return true;
        });
    return CudaResult::success;
}

CudaResult event_query(CudaEvent* event)
{
    active->progress();
    if (active->query != CudaResult::success) return active->query;
    return event->reached == event->recorded ? CudaResult::success : CudaResult::not_ready;
}

char const* cuda_error_text(CudaResult) { return "an illegal memory access was encountered"; }

constexpr comm::NcclApi table{.get_unique_id = get_unique_id,
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

// Does not use `active`, which may not last as long as the call.
[[noreturn]] NcclResult hang_forever(NcclComm*)
{
    for (;;) pause();
}

constexpr comm::NcclApi hanging_table = [] {
    auto copy = table;
    copy.comm_abort = hang_forever;
    return copy;
}();

}  // namespace

NcclDouble::NcclDouble(NcclFaults faults) : state_(std::make_unique<State>())
{
    if (active != nullptr) throw std::logic_error("there is another double");
    active = state_.get();
    state_->faults = faults;
    MPI_Comm_dup(MPI_COMM_WORLD, &state_->ranks);
}

NcclDouble::~NcclDouble() { active = nullptr; }

comm::NcclApi const& NcclDouble::api() const
{
    return state_->faults.abort_hangs ? hanging_table : table;
}
CudaStream* NcclDouble::compute() { return &state_->compute; }

void NcclDouble::enqueue(std::function<void()> work)
{
    state_->compute.work.push_back([work = std::move(work)] {
        work();
        return true;
    });
}

void NcclDouble::hold() { state_->compute.held = true; }
void NcclDouble::release() { state_->compute.held = false; }
void NcclDouble::progress() { state_->progress(); }
std::vector<std::string> const& NcclDouble::calls() const { return state_->calls; }

int NcclDouble::count(std::string const& call) const
{
    return static_cast<int>(std::count(state_->calls.begin(), state_->calls.end(), call));
}

int NcclDouble::misuses() const { return state_->misuses; }

int NcclDouble::live() const
{
    bool const communicator = state_->communicator && !state_->communicator->released;
    return static_cast<int>(state_->streams.size() + state_->events.size()) +
           (communicator ? 1 : 0);
}

}  // namespace curtail::test
