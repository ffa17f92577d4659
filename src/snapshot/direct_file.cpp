// SPDX-License-Identifier: Apache-2.0
#include "snapshot/direct_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/large_memory.hpp"
#include "core/result.hpp"

namespace curtail::snapshot {

AlignedBuffer::AlignedBuffer(std::size_t bytes)
{
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    size_ = bytes;
    auto const rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(huge_page, rounded));
    if (memory == nullptr) throw std::bad_alloc();
    memory_.reset(memory, [](std::byte* taken) { std::free(taken); });
    prefer_huge_pages({memory_.get(), rounded});
    std::memset(memory_.get(), 0, bytes);
}

Result<DirectFile> DirectFile::open(std::filesystem::path const& path)
{
    constexpr int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
    Fd file(::open(path.c_str(), flags | O_DIRECT));
    if (!file && errno == EINVAL) file.reset(::open(path.c_str(), flags));
    if (!file)
        return fail(ExitCode::cannot_create, "cannot open " + path.string(), errno_text(errno));
    return DirectFile(std::move(file), path);
}

Result<void> DirectFile::write(std::span<std::byte const> bytes, std::int64_t offset) const
{
    constexpr std::size_t most = std::size_t{16} << 20;
    while (!bytes.empty()) {
        auto const written =
            pwrite(file_.get(), bytes.data(), std::min(most, bytes.size()), offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0)
            return fail(ExitCode::io, "cannot write " + path_.string(),
                        errno_text(written < 0 ? errno : EIO));
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += written;
    }
    return {};
}

Result<void> DirectFile::sync() const
{
    if (fdatasync(file_.get()) == 0) return {};
    return fail(ExitCode::io, "cannot write " + path_.string(), errno_text(errno));
}

}  // namespace curtail::snapshot
