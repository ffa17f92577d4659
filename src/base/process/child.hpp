// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <optional>

#include "base/process/kernel.hpp"

namespace curtail::process {

/// Waits until a child of this process has ended. Returns its exit code, or 128 + n if signal n
/// ended it. Returns an empty optional, with errno set, if the exit code is lost. That happens if
/// this process ignores SIGCHLD, because the kernel then discards the exit code. Async-signal-safe.
[[nodiscard]] std::optional<int> wait_for_exit(pid_t child);

/// A running child process. Unless wait() was called, the destructor kills the child and the
/// process group that the child leads.
class Child {
  public:
    /// Watches the child with the process id `pid`.
    Child(pid_t pid, Kernel const& kernel);
    ~Child();
    Child(Child const&) = delete;
    Child& operator=(Child const&) = delete;

    /// Returns a descriptor that becomes readable when the child ends. Returns -1 if the kernel has
    /// no such descriptors, if the kernel discarded the child already or if error() is not 0. If
    /// error() is 0, call has_ended() every few milliseconds instead.
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Returns 0 if a caller can wait for the child's end. Otherwise returns the errno of the
    /// failure to open the descriptor.
    [[nodiscard]] int error() const { return error_; }
    /// Returns whether the child has ended. Does not wait.
    [[nodiscard]] bool has_ended() const;
    /// Does what wait_for_exit() does for this child. Call it at most once.
    [[nodiscard]] std::optional<int> wait();

  private:
    pid_t pid_;
    Fd fd_;
    int error_;
};

}  // namespace curtail::process
