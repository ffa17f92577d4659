// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "trainer/comm/nccl_api.hpp"

namespace curtail::test {

/// What goes wrong on this rank. By default, nothing.
struct NcclFaults {
    static constexpr auto never = std::numeric_limits<std::size_t>::max();

    comm::NcclResult id{};       ///< what get_unique_id returns
    comm::NcclResult init{};     ///< what comm_init returns
    bool init_hangs{false};      ///< the communicator stays in progress
    std::size_t at{never};       ///< the operation, counted from 0, to which the next five apply
    comm::NcclResult refused{};  ///< what the call returns; the operation is not enqueued
    bool never_enqueued{false};  ///< the communicator stays in progress after the call
    bool hangs{false};           ///< the operation begins but does not end
    comm::NcclResult broken{};   ///< as `hangs`; then the communicator's state is this
    comm::CudaResult query{};    ///< as `hangs`; then the result of every event_query is this
    bool finalize_hangs{false};
    bool abort_hangs{false};
    int polls{0};  ///< every function is in progress until comm_get_async_error was called so often
};

/// NCCL and the CUDA runtime on host memory. Operations exchange their data over MPI; streams and
/// events work as those of CUDA, but only make progress inside functions of the table. There may be
/// one double at a time. All ranks must create and use theirs together. Memory that an operation
/// uses when it is aborted must outlive the process.
class NcclDouble {
  public:
    explicit NcclDouble(NcclFaults faults = {});
    ~NcclDouble();
    NcclDouble(NcclDouble const&) = delete;
    NcclDouble& operator=(NcclDouble const&) = delete;

    [[nodiscard]] comm::NcclApi const& api() const;
    [[nodiscard]] comm::CudaStream* compute();
    /// Enqueues work on the compute stream.
    void enqueue(std::function<void()> work);
    /// Work on the compute stream does not begin until release().
    void hold();
    void release();
    /// Lets all streams make the progress that they can, as a GPU does by itself.
    void progress();

    /// The functions that were called, with the names of streams, except queries.
    [[nodiscard]] std::vector<std::string> const& calls() const;
    [[nodiscard]] int count(std::string const& call) const;
    /// Calls that NCCL forbids: of a communicator that was released, or that is in progress.
    [[nodiscard]] int misuses() const;
    /// Streams, events and communicators that exist, except the compute stream.
    [[nodiscard]] int live() const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace curtail::test
