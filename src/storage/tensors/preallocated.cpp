// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/preallocated.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/direct_io.hpp"
#include "base/core/files.hpp"
#include "base/core/new_files.hpp"
#include "base/core/text.hpp"

namespace curtail::tensors {
namespace {

bool is_preallocated(std::filesystem::path const& path, FileHead const& head, off_t size)
{
    auto const file = open_to_read(path);
    if (!file || !*file) return false;
    int const fd = (*file)->get();
    std::string begin(head.bytes.size(), '\0');
    return pread(fd, begin.data(), begin.size(), 0) == std::ssize(begin) && begin == head.bytes &&
           lseek(fd, 0, SEEK_END) == size;
}

}  // namespace

Result<void> preallocate(std::filesystem::path const& path, FileHead const& head)
{
    auto const size = in_whole_blocks(head.file_bytes);
    if (is_preallocated(path, head, size)) return {};
    auto const refuse = [&](ExitCode code, int error) {
        std::string remedy;
        if (error == EFBIG) remedy = "raise the limit (ulimit -f)";
        if (error == ENOSPC || error == EDQUOT)
            remedy = "free some space in " + path.parent_path().string();
        return fail(code, "cannot create " + path.string(), errno_text(error), remedy);
    };
    return replace_file(path, [&](std::filesystem::path const& temporary) -> Result<void> {
        Fd const file = open_new(temporary, O_RDWR, 0666);
        if (!file) return refuse(creation_code(errno), errno);
        int error = posix_fallocate(file.get(), 0, size);
        if (error == 0) error = write_all(file.get(), head.bytes);
        if (error != 0) return refuse(ExitCode::io, error);
        return {};
    });
}

}  // namespace curtail::tensors
