// SPDX-License-Identifier: Apache-2.0
#include "base/core/private_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/files.hpp"
#include "base/core/new_files.hpp"
#include "base/core/secret.hpp"
#include "base/core/trust.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> refuse(std::string what, std::string why, std::string remedy)
{
    return fail(ExitCode::permission, std::move(what), std::move(why), std::move(remedy));
}

std::string mode_text(struct stat const& status)
{
    return fmt::format("{:04o}", status.st_mode & 07777U);
}

Result<void> check_file(fs::path const& file, struct stat const& status, std::string const& what)
{
    if (!S_ISREG(status.st_mode))
        return refuse(what, "it is not a regular file", "name a file that holds the credential");
    if (status.st_uid != geteuid())
        return refuse(what, "it belongs to another user",
                      fmt::format("chown {} {}", static_cast<unsigned>(geteuid()), file.string()));
    if ((status.st_mode & 077U) != 0)
        return refuse(what, "its mode is " + mode_text(status) + ", must be 0600",
                      "chmod 600 " + file.string());
    if (auto const above = check_folders_above(file); above.error)
        return refuse(what, above.error->what + ": " + above.error->why, above.error->remedy);
    return {};
}

tl::unexpected<Error> cannot_open(fs::path const& file, int error, std::string const& what)
{
    if (error == ELOOP) return refuse(what, "it is a symbolic link", "name the file itself");
    return fail(error == EACCES ? ExitCode::permission : ExitCode::no_input, what,
                errno_text(error),
                error == EACCES ? "check the owner and mode of " + file.string() : "");
}

// Up to `size` bytes. On failure wipes what it has read and returns errno.
tl::expected<std::string, int> read_bytes(int fd, std::size_t size)
{
    std::string content(size, '\0');
    std::size_t have = 0;
    while (have < size) {
        ssize_t const n = read(fd, content.data() + have, size - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int const error = errno;
            wipe(content);
            return tl::unexpected(error);
        }
        if (n == 0) break;
        have += static_cast<std::size_t>(n);
    }
    content.resize(have);
    return content;
}

}  // namespace

Result<std::optional<std::string>> read_private_file(fs::path const& file, std::int64_t limit)
{
    auto const what = "cannot use " + file.string();
    // O_NONBLOCK: opening a FIFO in its place must not block.
    Fd const fd(open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && errno == ENOENT) return std::optional<std::string>{};
    if (!fd) return cannot_open(file, errno, what);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return fail(ExitCode::io, what, errno_text(errno));
    if (auto good = check_file(file, status, what); !good) return tl::unexpected(good.error());
    if (status.st_size > limit)
        return fail(ExitCode::data, what,
                    fmt::format("it has {} bytes, the limit is {}", status.st_size, limit));
    auto content = read_bytes(fd.get(), static_cast<std::size_t>(status.st_size));
    if (!content) return fail(ExitCode::io, what, errno_text(content.error()));
    return std::optional(std::move(*content));
}

Result<void> ensure_private_folder(fs::path const& folder)
{
    auto const what = "cannot use folder " + folder.string();
    int error = 0;
    fs::path made;
    for (auto const& part : folder) {
        int const failed = create_folder(made /= part, 0700);
        if (error == 0 && failed != EEXIST) error = failed;
    }
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0)
        return fail(creation_code(error), what, errno_text(error));
    if (!S_ISDIR(status.st_mode)) return refuse(what, "it is not a folder", "name another one");
    if (status.st_uid != geteuid())
        return refuse(what, "it belongs to another user", "name another one");
    if ((status.st_mode & 077U) != 0)
        return refuse(what, "its mode is " + mode_text(status) + ", must be 0700",
                      "chmod 700 " + folder.string());
    return {};
}

}  // namespace curtail
