// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace curtail::test {

/// Returns whether this process may mount something in a namespace of its own.
inline bool can_mount() { return geteuid() == 0; }

/// Calls `check` in a child that has a mount namespace of its own. Returns whether the child has
/// such a namespace and `check` returned true.
inline bool in_own_mounts(std::function<bool()> const& check)
{
    pid_t const child = fork();
    if (child == 0) {
        bool const is_own = unshare(CLONE_NEWNS) == 0 &&
                            mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
        _exit(is_own && check() ? 0 : 1);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace curtail::test
