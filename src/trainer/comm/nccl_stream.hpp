// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "trainer/comm/nccl_api.hpp"
#include "trainer/comm/patience.hpp"

namespace curtail::comm {

/// The stream on which NCCL works, its order relative to the compute stream, and the operations
/// that are not done; for NcclCollectives only. Functions throw CommError if CUDA fails. The
/// arguments of the constructor must outlive the object.
class NcclStream {
  public:
    NcclStream(NcclApi const& api, CudaStream* compute, Patience const& patience);
    ~NcclStream();
    NcclStream(NcclStream const&) = delete;
    NcclStream& operator=(NcclStream const&) = delete;

    [[nodiscard]] CudaStream* get() const { return stream_; }
    /// What is enqueued next begins after the work so far on the compute stream.
    void follow_compute();
    /// The work that is enqueued next on the compute stream begins after the operations so far.
    void precede_compute();
    /// As precede_compute(), but after the first `operations` only.
    void precede_compute(std::uint64_t operations);
    /// Number of operations so far.
    [[nodiscard]] std::uint64_t enqueued() const { return enqueued_; }
    /// Begins at `now` to watch the operation that was enqueued last. `operation` must be a
    /// literal.
    void watch(char const* operation, MonoTime now);
    /// True if all watched operations are done at `now`. Throws CommTimeout if none has become done
    /// for longer than the patience allows.
    [[nodiscard]] bool idle(MonoTime now);
    /// Calls CUDA no more, because it could wait forever. The stream and the events leak.
    void abandon() noexcept { abandoned_ = true; }

  private:
    struct WatchedOperation {
        char const* operation;
        CudaEvent* done;
    };
    [[nodiscard]] CudaEvent* new_event();
    [[nodiscard]] bool done(WatchedOperation const& watched) const;
    void require(CudaResult result, char const* operation) const;

    NcclApi const& api_;
    CudaStream* compute_;
    Patience const& patience_;
    CudaStream* stream_{nullptr};
    CudaEvent* order_{nullptr};       ///< orders the two streams; each use replaces the last one
    std::vector<CudaEvent*> events_;  ///< all of them
    std::vector<CudaEvent*> unused_;
    std::deque<WatchedOperation> watched_;  ///< the last of them has the number `enqueued_`
    std::uint64_t enqueued_{0};
    std::optional<WaitTimer> timer_;  ///< since the last operation became done
    bool abandoned_{false};
};

}  // namespace curtail::comm
