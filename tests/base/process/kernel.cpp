// SPDX-License-Identifier: Apache-2.0
#include "base/process/kernel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/process/kernels.hpp"
#include "support/old_kernel.hpp"

namespace curtail::process {
namespace {

class KernelTest : public testing::TestWithParam<NamedKernel> {
  protected:
    // Runs `body` in a child process and returns its exit code.
    template <class Body>
    static int in_child(Body body)
    {
        return test::without_calls(GetParam().error == 0 ? std::vector<unsigned>{} : new_calls,
                                   GetParam().error, body);
    }
    // The first descriptor of `count` consecutive ones; more than one getdents64 call lists.
    static constexpr int first = 100;
    static constexpr int count = 400;
    static void open_many()
    {
        int const null = open("/dev/null", O_RDONLY);
        for (int fd = first; fd < first + count; ++fd) dup2(null, fd);
    }
};

TEST_P(KernelTest, CloseFromClosesAllDescriptorsFromTheFirst)
{
    EXPECT_EQ(in_child([] {
                  open_many();
                  GetParam().kernel.close_from(first + 1);
                  for (int fd = first + 1; fd < first + count; ++fd)
                      if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) return 1;
                  return fcntl(first, F_GETFD) >= 0 ? 0 : 2;
              }),
              0);
}

TEST_P(KernelTest, CloseOnExecFromMarksAllDescriptorsFromTheFirst)
{
    EXPECT_EQ(in_child([] {
                  open_many();
                  GetParam().kernel.close_on_exec_from(first + 1);
                  for (int fd = first + 1; fd < first + count; ++fd)
                      if (fcntl(fd, F_GETFD) != FD_CLOEXEC) return 1;
                  return fcntl(first, F_GETFD) == 0 ? 0 : 2;
              }),
              0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, KernelTest, all_kernels(), kernel_name);
INSTANTIATE_TEST_SUITE_P(RefusingKernels, KernelTest, refusing_kernels(), kernel_name);

TEST(Kernel, WithoutPidfdNoProcessCanBeOpened)
{
    errno = 0;
    EXPECT_FALSE(Kernel{.pidfd = false}.open_process(getpid()));
    EXPECT_EQ(errno, ENOSYS);
}

class RefusedCalls : public testing::TestWithParam<NamedKernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, RefusedCalls, refusing_kernels(), kernel_name);

TEST_P(RefusedCalls, NoProcessCanBeOpened)
{
    EXPECT_EQ(test::without_calls(new_calls, GetParam().error,
                                  [] {
                                      errno = 0;
                                      if (Kernel{}.open_process(getpid())) return 1;
                                      return errno == ENOSYS ? 0 : 2;
                                  }),
              0);
}

TEST(Kernel, DescriptorOfAProcessShowsItsEndAndTakesSignals)
{
    pid_t const child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    auto const process = Kernel{}.open_process(child);
    if (!process) {
        EXPECT_EQ(errno, ENOSYS) << "only an old kernel cannot open a child";
        kill(child, SIGKILL);
    } else {
        pollfd watched{process.get(), POLLIN, 0};
        EXPECT_EQ(poll(&watched, 1, 0), 0) << "the child still runs";
        EXPECT_EQ(send_signal(process, SIGTERM), 0);
        EXPECT_EQ(poll(&watched, 1, 10'000), 1);
    }
    waitpid(child, nullptr, 0);
    errno = 0;
    EXPECT_FALSE(Kernel{}.open_process(child));
    EXPECT_TRUE(errno == ESRCH || errno == ENOSYS) << errno;
}

}  // namespace
}  // namespace curtail::process
