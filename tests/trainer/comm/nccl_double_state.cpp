// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/nccl_double_state.hpp"

#include <stdexcept>
#include <utility>

namespace curtail::test {

using comm::CudaResult;
using comm::CudaStream;
using comm::NcclComm;
using comm::NcclResult;

namespace {

bool step(CudaStream& stream)
{
    bool moved = false;
    while (!stream.held && !stream.work.empty() && stream.work.front()()) {
        stream.work.pop_front();
        moved = true;
    }
    return moved;
}

// Begins when its stream calls it for the first time.
std::function<bool()> exchange(NcclDouble::State::Start start)
{
    auto const request = std::make_shared<MPI_Request>(MPI_REQUEST_NULL);
    return [start = std::move(start), request, begun = false]() mutable {
        if (!begun && start(request.get()) != MPI_SUCCESS) throw std::runtime_error("MPI failed");
        begun = true;
        int done = 0;
        MPI_Test(request.get(), &done, MPI_STATUS_IGNORE);
        return done != 0;
    };
}

}  // namespace

void NcclDouble::State::progress()
{
    for (bool moved = true; moved;) {
        moved = step(compute);
        for (auto const& stream : streams) moved |= step(*stream);
    }
}

bool NcclDouble::State::forbidden(NcclComm const* comm, bool may_be_in_progress)
{
    bool const wrong = comm != communicator.get() || comm->released ||
                       (!may_be_in_progress && (comm->stays_in_progress || comm->polls_left > 0));
    misuses += wrong ? 1 : 0;
    return wrong;
}

NcclResult NcclDouble::State::begin(NcclComm& comm, std::function<void()> action)
{
    comm.then = std::move(action);
    comm.polls_left = faults.polls;
    if (comm.polls_left > 0) return NcclResult::in_progress;
    comm.then();
    return NcclResult::success;
}

NcclResult NcclDouble::State::poll(NcclComm& comm)
{
    progress();
    if (comm.polls_left > 0 && --comm.polls_left == 0) comm.then();
    bool const busy = comm.stays_in_progress || comm.polls_left > 0;
    return busy ? NcclResult::in_progress : comm.state;
}

NcclResult NcclDouble::State::operation(char const* name, NcclComm* comm, CudaStream* stream,
                                        Start start)
{
    if (forbidden(comm)) return NcclResult::invalid_usage;
    bool const faulty = operations++ == faults.at;
    if (faulty && faults.refused != NcclResult::success) return faults.refused;
    if (faulty && faults.never_enqueued) {
        comm->stays_in_progress = true;
        return NcclResult::in_progress;
    }
    auto work = faulty && hangs() ? hang(*comm) : exchange(std::move(start));
    return begin(*comm, [this, name, stream, work = std::move(work)] {
        called(std::string(name) + " on " + stream->name);
        stream->work.push_back(work);
    });
}

bool NcclDouble::State::hangs() const
{
    return faults.hangs || faults.broken != NcclResult::success ||
           faults.query != CudaResult::success;
}

std::function<bool()> NcclDouble::State::hang(NcclComm& comm)
{
    return [this, &comm] {
        comm.state = faults.broken;
        query = faults.query;
        return false;
    };
}

}  // namespace curtail::test
