// SPDX-License-Identifier: Apache-2.0
#include "run/permission/site_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/core/files.hpp"

namespace curtail::permission {
namespace {

// More than a permission or a hold needs.
constexpr std::size_t reserved_bytes{8192};

std::filesystem::path reserve_of(std::filesystem::path const& file)
{
    return file.parent_path() / ("." + file.filename().string() + ".reserve");
}

// Replaces the content of an existing regular file. Fails if the file has not enough space yet.
bool overwrite(std::filesystem::path const& file, std::string const& content)
{
    Fd const fd(open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    bool const is_regular =
        fd && fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
    auto const space = std::max<std::int64_t>(status.st_size, std::int64_t{512} * status.st_blocks);
    return is_regular && std::cmp_less_equal(content.size(), space) &&
           write_all(fd.get(), content) == 0 &&
           ftruncate(fd.get(), static_cast<off_t>(content.size())) == 0 && fsync(fd.get()) == 0;
}

}  // namespace

Result<void> write_site_file(std::filesystem::path const& file, std::string const& content)
{
    if (auto made = make_folder(file.parent_path()); !made) return made;
    return write_file(file, content);
}

void reserve_space(std::filesystem::path const& file)
{
    std::error_code error;
    auto const reserve = reserve_of(file);
    auto const size = std::filesystem::file_size(reserve, error);
    if (!error && size >= reserved_bytes) return;
    (void)write_site_file(reserve, std::string(reserved_bytes, '\n'));
}

Result<void> write_site_file_on_full_disk(std::filesystem::path const& file,
                                          std::string const& content)
{
    auto written = write_site_file(file, content);
    auto const reserve = reserve_of(file);
    if (!written && overwrite(reserve, content) && rename(reserve.c_str(), file.c_str()) == 0)
        written = sync_folder(file.parent_path());
    else if (!written && overwrite(file, content)) written = {};
    reserve_space(file);
    return written;
}

}  // namespace curtail::permission
