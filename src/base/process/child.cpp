// SPDX-License-Identifier: Apache-2.0
#include "base/process/child.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>

namespace curtail::process {

std::optional<int> wait_for_exit(pid_t child)
{
    int status = 0;
    pid_t waited = 0;
    while ((waited = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
    if (waited < 0) return std::nullopt;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Child::Child(pid_t pid, Kernel const& kernel) : pid_(pid), fd_(kernel.open_process(pid)), error_(0)
{
    // ESRCH: the child ended, and the kernel discarded its exit code. wait() reports that.
    if (!fd_ && errno != ENOSYS && errno != ESRCH) error_ = errno;
}

Child::~Child()
{
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    (void)wait();
}

bool Child::has_ended() const
{
    siginfo_t info{};
    // Leaves the child waitable. A failure means that the kernel reaped it already.
    int const error = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return error != 0 || info.si_pid == pid_;
}

std::optional<int> Child::wait()
{
    pid_t const child = pid_;
    pid_ = 0;
    return wait_for_exit(child);
}

}  // namespace curtail::process
