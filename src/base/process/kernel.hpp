// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include "base/core/files.hpp"

namespace curtail::process {

/// Optional features of the kernel. Curtail tries a feature only if its member is true. Otherwise,
/// or if the kernel or container lacks the feature, Curtail uses a fallback. Tests set a member to
/// false, as if the feature were missing.
///
/// Curtail also supports Linux 4.18 and glibc 2.28, which lack the system calls below. Curtail
/// therefore calls them by number.
struct Kernel {
    bool pidfd{true};  ///< the system calls pidfd_open and pidfd_send_signal, from Linux 5.3
    /// The system call close_range, from Linux 5.9. Its flag CLOSE_RANGE_CLOEXEC exists from 5.11.
    bool close_range{true};
    bool proc{true};  ///< the folder /proc/self/fd; the fallback tries every descriptor number

    /// Opens a descriptor that becomes readable when the process `pid` ends. If that fails, the
    /// descriptor is invalid and errno is set. ENOSYS means that the kernel has no such
    /// descriptors, ESRCH that there is no such process.
    [[nodiscard]] Fd open_process(pid_t pid) const;
    /// Closes all descriptors with a number of at least `first`. Async-signal-safe.
    void close_from(unsigned first) const;
    /// Marks all descriptors with a number of at least `first` as close-on-exec. Async-signal-safe.
    void close_on_exec_from(unsigned first) const;
};

/// Sends a signal to the process that open_process() opened. Returns 0, or -1 with errno set.
[[nodiscard]] int send_signal(Fd const& process, int signal);

}  // namespace curtail::process
