// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <optional>

#include "launch/kernel.hpp"

namespace curtail::launch {

/// Waits for the end of a child of this process. The exit code, 128 + n if signal n ended it;
/// empty, with errno, if it is lost: the kernel reaps the children of a process that ignores
/// SIGCHLD. Async-signal-safe.
[[nodiscard]] std::optional<int> wait_for_exit(pid_t child);

/// A child process. The destructor kills its process group unless wait() was called.
class Child {
  public:
    Child(pid_t pid, Kernel const& kernel);
    ~Child();
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;

    /// A descriptor that becomes readable when the child ends; -1 if the kernel has none. Then call
    /// has_ended() every few milliseconds.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// errno of the failure to watch the child; 0 if fd() or has_ended() works.
    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] bool has_ended() const;
    /// As wait_for_exit().
    [[nodiscard]] std::optional<int> wait();

  private:
    pid_t pid_;
    Fd fd_;
    int error_;
};

}  // namespace curtail::launch
