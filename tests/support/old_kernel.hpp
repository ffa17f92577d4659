// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

namespace curtail::test {

/// Installs a system call filter: from now on the kernel answers `error` to the system calls with
/// these numbers, in this process and its children. Returns false if it cannot.
[[nodiscard]] inline bool refuse_calls(std::vector<unsigned> const& numbers, int error)
{
    std::vector<sock_filter> program{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (unsigned const number : numbers) {
        program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
        program.push_back(
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog const filter{static_cast<unsigned short>(program.size()), program.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

/// Runs `body` in a child process to whose system calls `numbers` the kernel answers `error`:
/// ENOSYS as an older kernel does, or EPERM as some containers do. Returns what `body` returned,
/// 255 if the filter cannot be installed, and -1 if a signal ended the child.
template <class Body>
[[nodiscard]] int without_calls(std::vector<unsigned> const& numbers, int error, Body body)
{
    pid_t const child = fork();
    if (child == 0) _exit(refuse_calls(numbers, error) ? body() : 255);
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

}  // namespace curtail::test
