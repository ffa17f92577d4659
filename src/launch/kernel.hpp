// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include "core/files.hpp"

namespace curtail::launch {

/// System calls newer than Linux 4.18, by number because glibc 2.28 does not declare them. Each has
/// a fallback for kernels and containers without it. Production uses the default value; tests set a
/// member to false, which has the effect of ENOSYS.
struct Kernel {
    bool pidfd{true};        ///< pidfd_open, pidfd_send_signal: Linux 5.3
    bool close_range{true};  ///< close_range: Linux 5.9; with CLOSE_RANGE_CLOEXEC: 5.11
    bool proc{true};         ///< /proc/self/fd; its fallback is a loop over all numbers

    /// A descriptor that becomes readable when the process ends. Without one errno is ENOSYS if the
    /// kernel has no such descriptors, and ESRCH if there is no such process.
    [[nodiscard]] Fd open_process(pid_t pid) const;
    /// Closes all descriptors from `first` on. Async-signal-safe.
    void close_from(unsigned first) const;
    /// Marks all descriptors from `first` on as close-on-exec. Async-signal-safe.
    void close_on_exec_from(unsigned first) const;
};

/// Sends a signal to the process of a descriptor from open_process. 0, or -1 with errno.
[[nodiscard]] int send_signal(Fd const& process, int signal);

}  // namespace curtail::launch
