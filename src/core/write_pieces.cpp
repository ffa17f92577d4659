// SPDX-License-Identifier: Apache-2.0
#include "core/write_pieces.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/direct_io.hpp"

namespace curtail {
namespace {

// So many bytes go to the system at a time.
constexpr std::size_t most_at_once = std::size_t{4} << 20;
constexpr std::size_t block_bytes = direct_block_bytes;

// Writes `bytes` at the position `offset` and returns how many bytes are written, or sets errno.
ssize_t write_at(int fd, std::span<std::byte const> bytes, std::size_t offset)
{
    for (;;) {
        auto const written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (written > 0) return written;
        if (written == 0) errno = EIO;
        if (written == 0 || errno != EINTR) return -1;
    }
}

// Writes from the page cache on: from `offset` to the end.
int write_cached(int fd, Pieces const& bytes, std::size_t offset, Call const& call)
{
    while (offset < bytes.size()) {
        if (call.is_over()) return ECANCELED;
        auto const part = bytes.slice(offset, most_at_once);
        auto const written = write_at(fd, part.list().front(), offset);
        if (written < 0) return errno;
        offset += static_cast<std::size_t>(written);
    }
    return 0;
}

// Writes whole blocks past the cache. Moves `offset` behind the last written byte. Returns EINVAL
// if the file system needs another alignment than that of `buffer`.
int write_direct(int fd, Pieces const& bytes, std::span<std::byte> buffer, std::size_t& offset,
                 Call const& call)
{
    while (bytes.size() - offset >= block_bytes) {
        if (call.is_over()) return ECANCELED;
        auto const copied = bytes.copy(offset, buffer);
        auto const written = write_at(fd, buffer.first(copied / block_bytes * block_bytes), offset);
        if (written < 0) return errno;
        // After a part of a block, the next position would not be aligned.
        auto const whole = static_cast<std::size_t>(written) / block_bytes * block_bytes;
        if (whole == 0) return EINVAL;
        offset += whole;
    }
    return 0;
}

}  // namespace

int write_pieces(int fd, Pieces const& bytes, Call const& call)
{
    std::size_t offset = 0;
    if (bytes.size() >= most_at_once && set_direct(fd, true)) {
        auto const buffer = aligned_memory(most_at_once);
        int const error = write_direct(fd, bytes, {buffer.get(), most_at_once}, offset, call);
        if (error != 0 && error != EINVAL) return error;
        if (!set_direct(fd, false)) return errno;
    }
    return write_cached(fd, bytes, offset, call);
}

}  // namespace curtail
