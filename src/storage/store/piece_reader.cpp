// SPDX-License-Identifier: Apache-2.0
#include "storage/store/piece_reader.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/direct_io.hpp"

namespace curtail::store {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
constexpr off_t large = off_t{4} << 20;

bool is_cached(int fd)
{
    std::array<std::byte, 512> start;
    iovec const place{start.data(), start.size()};
    return preadv2(fd, &place, 1, 0, RWF_NOWAIT) > 0;
}

}  // namespace

PieceReader::PieceReader(int fd, off_t size)
    : fd_(fd), size_(size), direct_(size >= large && !is_cached(fd) && set_direct(fd, true))
{
}

tl::expected<std::span<std::byte const>, int> PieceReader::next()
{
    auto& [used, ahead] = buffers_;
    auto const bytes = std::min(piece_bytes, static_cast<std::size_t>(size_));
    if (used.bytes().empty()) used = AlignedMemory(bytes);
    if (pending_.valid()) std::swap(used, ahead);
    auto const done = pending_.valid() ? pending_.get() : read(used.bytes().data());
    if (done.error != 0) return tl::unexpected(done.error);
    if (done.bytes > 0 && offset_ < size_) {
        if (ahead.bytes().empty()) ahead = AlignedMemory(bytes);
        // In another thread if one can start.
        pending_ = std::async([this, to = ahead.bytes().data()] { return read(to); });
    }
    return used.bytes().first(done.bytes);
}

// Reads one piece and moves `offset_` behind it.
PieceReader::Outcome PieceReader::read(std::byte* to)
{
    for (;;) {
        auto const left = static_cast<std::size_t>(size_ - offset_);
        auto const found = pread(fd_, to, std::min(piece_bytes, in_whole_blocks(left)), offset_);
        if (found < 0 && errno == EINTR) continue;
        // The file system may need another alignment, also after a piece of unusual size.
        if (found < 0 && errno == EINVAL && direct_ && set_direct(fd_, false)) {
            direct_ = false;
            continue;
        }
        if (found < 0) return {0, errno};
        auto const bytes = std::min(static_cast<std::size_t>(found), left);
        offset_ += static_cast<off_t>(bytes);
        return {bytes, 0};
    }
}

}  // namespace curtail::store
