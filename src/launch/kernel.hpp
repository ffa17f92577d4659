// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include "core/files.hpp"

namespace curtail::launch {

/// The newer system calls that may be used. They are newer than Linux 4.18, and are called by
/// number because glibc 2.28 does not declare them. Each has a fallback for kernels and containers
/// that lack it. The default value allows all of them. Tests set a member to false, as if the
/// kernel answered ENOSYS.
struct Kernel {
    bool pidfd{true};        ///< pidfd_open and pidfd_send_signal, from Linux 5.3
    bool close_range{true};  ///< close_range, from Linux 5.9; with CLOSE_RANGE_CLOEXEC from 5.11
    bool proc{true};         ///< /proc/self/fd; the fallback tries every descriptor number

    /// Opens a descriptor that becomes readable when the process `pid` ends. If that fails, the
    /// descriptor is invalid and errno is set. It is ENOSYS if the kernel has no such descriptors,
    /// and ESRCH if there is no such process.
    [[nodiscard]] Fd open_process(pid_t pid) const;
    /// Closes all descriptors with a number of at least `first`. Async-signal-safe.
    void close_from(unsigned first) const;
    /// Marks all descriptors with a number of at least `first` as close-on-exec. Async-signal-safe.
    void close_on_exec_from(unsigned first) const;
};

/// Sends a signal to the process that open_process() opened. Returns 0, or -1 with errno set.
[[nodiscard]] int send_signal(Fd const& process, int signal);

}  // namespace curtail::launch
