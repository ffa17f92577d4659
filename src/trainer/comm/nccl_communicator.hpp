// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "base/core/units.hpp"
#include "trainer/comm/collectives.hpp"
#include "trainer/comm/nccl_api.hpp"

namespace curtail::comm {

/// The NCCL communicator of one rank; for NcclCollectives only. No wait is longer than `patience`
/// allows. The arguments of the constructor must outlive the object.
class NcclCommunicator {
  public:
    NcclCommunicator(NcclApi const& api, Patience const& patience, Millis abort_limit)
        : api_(api), patience_(patience), abort_limit_(abort_limit)
    {
    }
    ~NcclCommunicator() { (void)end(); }
    NcclCommunicator(NcclCommunicator const&) = delete;
    NcclCommunicator& operator=(NcclCommunicator const&) = delete;

    /// Joins all ranks of `host` in a communicator on the current device. Rank 0 sends its id to
    /// the others over `host`. Throws CommError.
    void join(Collectives& host);
    /// Calls `start`, which returns the result of a function of NCCL. Waits until NCCL has enqueued
    /// the operation. Throws CommError.
    void enqueue(char const* operation, std::function<NcclResult(NcclComm*)> const& start);
    /// Throws CommError if an operation has failed, or if abort() was called.
    void check(char const* operation);
    /// Ends the communicator together with the other ranks, after all operations. Aborts it instead
    /// if an operation fails, if another rank is late, or if an exception is unwinding the stack.
    /// Returns false if NCCL does not return within the `abort_limit`.
    [[nodiscard]] bool end() noexcept;
    /// Makes NCCL give up all operations. Afterwards check() throws. Returns false if NCCL does not
    /// return within the `abort_limit`.
    [[nodiscard]] bool abort() noexcept;

  private:
    [[nodiscard]] bool ready(char const* operation);
    void await(char const* operation);
    [[nodiscard]] bool release(NcclResult (*function)(NcclComm*)) noexcept;
    [[nodiscard]] CommError error(char const* operation, NcclResult result) const;

    NcclApi const& api_;
    Patience const& patience_;
    Millis abort_limit_;
    int exceptions_{std::uncaught_exceptions()};
    NcclComm* comm_{nullptr};
};

}  // namespace curtail::comm
