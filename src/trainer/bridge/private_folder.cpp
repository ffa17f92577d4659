// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/private_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/core/new_files.hpp"
#include "base/process/identity.hpp"

namespace curtail::bridge {
namespace {

namespace fs = std::filesystem;

constexpr char const* prefix = "curtail-bridge-";
constexpr char const* new_prefix = ".curtail-bridge-";
constexpr char const* lock_name = "lock";
constexpr char const* host_name = "host";

fs::path parent_folder()
{
    constexpr std::size_t longest = 60;  // with the names in the folder, a socket may have 107
    char const* const chosen = std::getenv("TMPDIR");
    bool const usable = chosen != nullptr && *chosen != 0 && std::strlen(chosen) <= longest &&
                        ::access(chosen, W_OK | X_OK) == 0;
    return usable ? chosen : "/tmp";
}

void remove_left_folders(fs::path const& parent)
{
    std::error_code ignored;
    std::error_code error;
    for (fs::directory_iterator entry(parent, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        auto const& path = entry->path();
        struct stat found {};
        if (!path.filename().string().starts_with(prefix) || ::lstat(path.c_str(), &found) != 0 ||
            !S_ISDIR(found.st_mode) || found.st_uid != ::geteuid())
            continue;
        // Other machines may share the folder, and not its locks.
        auto const host = read_file_if_exists(path / host_name, 256);
        if (!host || *host != process::host_name()) continue;
        if (auto const lock = FileLock::take(path / lock_name)) fs::remove_all(path, ignored);
    }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::create()
{
    auto const parent = parent_folder();
    remove_left_folders(parent);
    // Before it is locked, another process could take it for one that was left.
    auto path = (parent / new_prefix).string() + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
        return fail(creation_code(errno), "cannot create " + path, errno_text(errno),
                    "set TMPDIR to a folder that can be written to");
    PrivateFolder folder(path);
    auto lock = FileLock::take(folder.path() / lock_name);
    if (!lock)
        return fail(lock.error().code, lock.error().what, lock.error().why,
                    "set TMPDIR to a folder on a local disk");
    folder.lock_ = std::move(*lock);
    if (auto written = write_file(folder.path() / host_name, process::host_name()); !written)
        return tl::unexpected(written.error());
    auto const name = parent / (prefix + path.substr(path.size() - 6));
    if (::rename(path.c_str(), name.c_str()) != 0)
        return fail(ExitCode::cannot_create, "cannot create " + name.string(), errno_text(errno));
    folder.path_ = name;
    return folder;
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_))
{
}

PrivateFolder::~PrivateFolder()
{
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace curtail::bridge
