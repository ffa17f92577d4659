// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <thread>

#include "base/core/digest.hpp"

namespace curtail {

/// A SHA-256 computation in parallel to other work on the same bytes. Large pieces are hashed in a
/// thread of its own, which starts with the first of them; small ones, or all if no thread can
/// start, in the thread of the caller.
class ParallelSha256 {
  public:
    ParallelSha256() = default;
    ~ParallelSha256();
    ParallelSha256(ParallelSha256 const&) = delete;
    ParallelSha256& operator=(ParallelSha256 const&) = delete;

    /// Begins to hash the next piece. The bytes must stay unchanged until wait() has returned.
    void begin(std::span<std::byte const> piece);
    void wait();                    ///< returns once the piece is hashed
    [[nodiscard]] Digest finish();  ///< call once, after the last wait()

  private:
    enum class State { idle, working, over };
    [[nodiscard]] bool has_thread();
    void work();
    void set(State state);

    Sha256 hash_;
    std::span<std::byte const> piece_;
    std::atomic<State> state_{State::idle};
    bool no_thread_{false};
    std::thread thread_;
};

}  // namespace curtail
