// SPDX-License-Identifier: Apache-2.0
#include "base/core/direct_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/large_memory.hpp"

namespace curtail {
namespace {

// So many bytes of Pieces go to the system at a time.
constexpr std::size_t most_at_once = std::size_t{4} << 20;

// Writes from the page cache on: from `offset` to the end.
int write_cached(int fd, Pieces const& bytes, std::size_t offset, CallLimits const& call)
{
    while (offset < bytes.size()) {
        if (call.is_over()) return ECANCELED;
        auto const rest = bytes.slice(offset, most_at_once);
        auto const part = rest.list().front();
        if (int const error = write_at(fd, part, static_cast<off_t>(offset))) return error;
        offset += part.size();
    }
    return 0;
}

// Writes whole blocks past the cache. Moves `offset` behind the last written block. Returns EINVAL
// if the file system needs another alignment.
int write_direct(int fd, Pieces const& bytes, std::size_t& offset, CallLimits const& call)
{
    AlignedMemory const buffer(most_at_once);
    while (bytes.size() - offset >= direct_block_bytes) {
        if (call.is_over()) return ECANCELED;
        auto const copied = bytes.copy(offset, buffer.bytes());
        auto const blocks = buffer.bytes().first(copied / direct_block_bytes * direct_block_bytes);
        if (int const error = write_at(fd, blocks, static_cast<off_t>(offset))) return error;
        offset += blocks.size();
    }
    return 0;
}

}  // namespace

bool set_direct(int fd, bool direct)
{
    int const flags = fcntl(fd, F_GETFL);
    if (flags < 0) return false;
    return fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

int write_at(int fd, std::span<std::byte const> bytes, off_t offset)
{
    constexpr std::size_t most = std::size_t{16} << 20;
    while (!bytes.empty()) {
        auto const written = pwrite(fd, bytes.data(), std::min(most, bytes.size()), offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? errno : EIO;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += written;
    }
    return 0;
}

int write_pieces(int fd, Pieces const& bytes, CallLimits const& call)
{
    std::size_t offset = 0;
    if (bytes.size() >= most_at_once && set_direct(fd, true)) {
        int const error = write_direct(fd, bytes, offset, call);
        if (error != 0 && error != EINVAL) return error;
        if (!set_direct(fd, false)) return errno;
    }
    return write_cached(fd, bytes, offset, call);
}

}  // namespace curtail
