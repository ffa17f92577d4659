// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <exception>
#include <functional>

#include "base/core/result.hpp"

namespace curtail {

/// Returns the Error for an exception that reached the end of a program or thread. Memory and
/// threads that the system does not give are an `os_error`. A current folder that was removed is
/// `no_input`. Every other exception is a defect in Curtail (`software`).
[[nodiscard]] Error error_of(std::exception const& exception);

/// Calls `work` with 0, 1, ... `count` - 1, each in a thread of its own, and returns when all have
/// ended. If calls throw, rethrows the first of their exceptions: a thread that ends with an
/// exception would end the process. Throws std::system_error if the system has no more threads.
void run_in_threads(std::size_t count, std::function<void(std::size_t)> const& work);

}  // namespace curtail
