// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "base/core/clock.hpp"

namespace curtail {

/// Threads whose work may hang, for example because a file server does not answer. The owner waits
/// for them only as long as it likes. Thread-safe.
///
/// The work of an abandoned thread goes on, so it must own all that it uses. The program must end
/// without exit handlers (programs::end_at_once()): those of OpenSSL, for example, would free what
/// such a thread still uses.
class AbandonableThreads {
  public:
    AbandonableThreads();
    /// Joins the threads whose work has ended: then the variables that libraries keep for them are
    /// gone too. Abandons the others. To give them time, call wait() before.
    ~AbandonableThreads();
    AbandonableThreads(AbandonableThreads const&) = delete;
    AbandonableThreads& operator=(AbandonableThreads const&) = delete;

    /// Runs `work` in a new thread, and destroys it there. `work` must not throw. Returns false if
    /// the system has no thread.
    [[nodiscard]] bool start(std::function<void()> work);
    /// Waits until all work has ended, and at most until `until`. Returns whether it has ended.
    [[nodiscard]] bool wait(MonoTime until) const;

  private:
    struct Shared;
    void join_ended();

    std::shared_ptr<Shared> shared_;
    int started_{0};
    std::map<int, std::thread> threads_;  ///< by number
};

}  // namespace curtail
