// SPDX-License-Identifier: Apache-2.0
#pragma once

// What NcclDouble consists of; only for its own sources.

#include <mpi.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/comm/nccl_double.hpp"

namespace curtail::comm {

struct CudaStream {
    std::string name;
    std::deque<std::function<bool()>> work{};  ///< each returns true when it is done
    bool held{false};
};

struct CudaEvent : std::enable_shared_from_this<CudaEvent> {
    int recorded{0};  ///< how often it was recorded
    int reached{0};   ///< the last record that its stream has reached
};

struct NcclComm {
    NcclResult state{NcclResult::success};
    int polls_left{0};             ///< until the function in progress is done
    std::function<void()> then{};  ///< what it does then
    bool stays_in_progress{false};
    bool released{false};
};

}  // namespace curtail::comm

namespace curtail::test {

struct NcclDouble::State {
    NcclFaults faults;
    MPI_Comm ranks{MPI_COMM_NULL};
    comm::CudaStream compute{"compute"};
    std::vector<std::unique_ptr<comm::CudaStream>> streams;
    std::vector<std::shared_ptr<comm::CudaEvent>> events;  ///< streams may use them longer
    std::unique_ptr<comm::NcclComm> communicator;
    comm::CudaResult query{comm::CudaResult::success};
    std::size_t operations{0};
    std::vector<std::string> calls;
    int misuses{0};

    void called(std::string call) { calls.push_back(std::move(call)); }
    /// Lets all streams make the progress that they can.
    void progress();
    /// Counts a call that NCCL forbids. True if this call of a function with `comm` is one.
    bool forbidden(comm::NcclComm const* comm, bool may_be_in_progress = false);
    /// Does `action` at once, or after some polls.
    comm::NcclResult begin(comm::NcclComm& comm, std::function<void()> action);
    /// The state that comm_get_async_error reports.
    comm::NcclResult poll(comm::NcclComm& comm);

    /// Starts a nonblocking function of MPI.
    using Start = std::function<int(MPI_Request*)>;
    /// What a function of NCCL returns that enqueues an operation.
    comm::NcclResult operation(char const* name, comm::NcclComm* comm, comm::CudaStream* stream,
                               Start start);

  private:
    [[nodiscard]] bool hangs() const;
    std::function<bool()> hang(comm::NcclComm& comm);
};

}  // namespace curtail::test
