// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <stop_token>
#include <thread>

#include "base/core/result.hpp"
#include "base/core/time.hpp"

namespace curtail {

/// A limit of time for work that nothing can interrupt, such as a read from a file server that
/// hangs, or the start of MPI. Ends the process if the object still exists after the limit.
class TimeLimit {
  public:
    using LogError = std::function<void(Error const&)>;

    /// The limit begins now. Time in which the process is suspended does not count. After `limit`,
    /// another thread calls `log_error` with `error`, and ends the process at once with the code of
    /// `error`.
    TimeLimit(Millis limit, Error error, LogError log_error);

  private:
    static void run(std::stop_token const& is_over, Millis limit, Error const& error,
                    LogError const& log_error);
    std::jthread thread_;
};

}  // namespace curtail
