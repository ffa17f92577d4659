// SPDX-License-Identifier: Apache-2.0
#include "base/process/kernel.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/core/text.hpp"

namespace curtail::process {
namespace {

// The same numbers on all architectures that Curtail supports (include/uapi/asm-generic/unistd.h).
constexpr long pidfd_send_signal_number = 424;
constexpr long pidfd_open_number = 434;
constexpr long close_range_number = 436;
constexpr unsigned close_range_cloexec = 1U << 2;  // linux/close_range.h

using DescriptorAction = void (*)(int);

void close_descriptor(int fd) { ::close(fd); }

void mark_close_on_exec(int fd)
{
    int const flags = fcntl(fd, F_GETFD);
    if (flags >= 0) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
}

// One record of getdents64(2); the name follows the fixed part.
struct DirectoryEntry {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t length;
    std::uint8_t type;
};
constexpr std::size_t name_offset = 19;

// Applies `action` to the descriptors from `first` on that one getdents64 call returned.
void apply_to_entries(char const* buffer, std::size_t size, int first, int folder,
                      DescriptorAction action)
{
    for (std::size_t at = 0; at < size;) {
        DirectoryEntry entry{};
        std::memcpy(&entry, buffer + at, name_offset);
        // -1 stands for the entries `.` and `..`.
        int const fd = parse_number<int>(buffer + at + name_offset).value_or(-1);
        if (fd >= first && fd != folder) action(fd);
        at += entry.length;
    }
}

// Applies `action` to the descriptors that /proc/self/fd lists. Returns false if it is unreadable.
// opendir(3) allocates, so this reads the folder by system calls.
bool apply_to_listed(int first, DescriptorAction action)
{
    int const folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return false;
    alignas(8) char buffer[4096];
    long size = 0;
    while ((size = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
        apply_to_entries(buffer, static_cast<std::size_t>(size), first, folder, action);
    ::close(folder);
    return size == 0;
}

void apply_to_all(bool proc, int first, DescriptorAction action)
{
    if (proc && apply_to_listed(first, action)) return;
    rlimit limit{};
    constexpr rlim_t most = 1 << 20;
    rlim_t const end =
        getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min(limit.rlim_cur, most) : most;
    for (int fd = first; fd < static_cast<int>(end); ++fd) action(fd);
}

void close_range_or_each(Kernel const& kernel, unsigned first, unsigned flags,
                         DescriptorAction action)
{
    if (kernel.close_range && syscall(close_range_number, first, ~0U, flags) == 0) return;
    apply_to_all(kernel.proc, static_cast<int>(first), action);
}

}  // namespace

Fd Kernel::open_process(pid_t pid) const
{
    if (!pidfd) {
        errno = ENOSYS;
        return {};
    }
    Fd fd(static_cast<int>(syscall(pidfd_open_number, pid, 0U)));
    // Containers that filter unknown system calls answer EPERM, which pidfd_open itself never does.
    if (!fd && errno == EPERM) errno = ENOSYS;
    return fd;
}

void Kernel::close_from(unsigned first) const
{
    close_range_or_each(*this, first, 0, close_descriptor);
}

void Kernel::close_on_exec_from(unsigned first) const
{
    close_range_or_each(*this, first, close_range_cloexec, mark_close_on_exec);
}

int send_signal(Fd const& process, int signal)
{
    return static_cast<int>(syscall(pidfd_send_signal_number, process.get(), signal, nullptr, 0U));
}

}  // namespace curtail::process
