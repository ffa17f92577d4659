// SPDX-License-Identifier: Apache-2.0
#include "base/core/new_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace curtail {
namespace {

namespace fs = std::filesystem;

// umask(2) can only be read by a change of it, which other threads would see.
mode_t current_umask()
{
    constexpr mode_t strictest = 077;
    constexpr std::string_view key = "\nUmask:";
    auto const status = read_file("/proc/self/status", 1 << 16).value_or("");
    auto const at = status.find(key);
    if (at == std::string::npos) return strictest;
    return static_cast<mode_t>(std::strtoul(status.c_str() + at + key.size(), nullptr, 8));
}

// Returns 0 or errno.
int set_rights(int fd, mode_t mode)
{
    struct stat status {};
    if (fstat(fd, &status) != 0) return errno;
    return give_mode(fd, (mode & ~current_umask()) | (status.st_mode & S_ISGID));
}

}  // namespace

int give_mode(int fd, mode_t mode)
{
    for (auto const* list : {"system.posix_acl_default", "system.posix_acl_access"})
        if (fremovexattr(fd, list) != 0 && fgetxattr(fd, list, nullptr, 0) > 0) return EPERM;
    struct stat status {};
    if (fstat(fd, &status) != 0) return errno;
    return (status.st_mode & 07777U) == mode || fchmod(fd, mode) == 0 ? 0 : errno;
}

Fd open_new(fs::path const& path, int flags, mode_t mode)
{
    constexpr int always = O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Fd fd(open(path.c_str(), flags | always, mode & S_IRWXU));
    if (!fd) return fd;
    if (int const error = set_rights(fd.get(), mode)) {
        unlink(path.c_str());
        fd.reset();
        errno = error;
    }
    return fd;
}

Fd open_or_create(fs::path const& path, int flags, mode_t mode)
{
    // Others may remove and create it meanwhile.
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
        Fd fd(open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
        if (fd || errno != ENOENT) return fd;
        fd = open_new(path, flags, mode);
        if (fd || errno != EEXIST) return fd;
    }
    return {};
}

int create_folder(fs::path const& path, mode_t mode)
{
    if (mkdir(path.c_str(), mode & S_IRWXU) != 0) return errno;
    Fd const fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return fd ? set_rights(fd.get(), mode) : errno;
}

ExitCode creation_code(int error)
{
    return error == ENOSPC || error == EDQUOT ? ExitCode::io : ExitCode::cannot_create;
}

}  // namespace curtail
