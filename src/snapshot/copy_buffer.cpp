// SPDX-License-Identifier: Apache-2.0
#include "snapshot/copy_buffer.hpp"

#include <algorithm>
#include <bit>

namespace curtail::snapshot {

std::vector<std::size_t> block_sizes(std::size_t bytes)
{
    constexpr std::size_t largest = std::size_t{512} << 20;
    constexpr std::size_t smallest = std::size_t{16} << 20;
    std::vector<std::size_t> sizes;
    while (bytes >= smallest) {
        sizes.push_back(std::min(largest, std::bit_floor(bytes)));
        bytes -= sizes.back();
    }
    if (bytes > 0) sizes.push_back(bytes);
    return sizes;
}

CopyBuffer::CopyBuffer(std::size_t bytes, MakeBlock const& make_block)
{
    for (auto const size : block_sizes(bytes)) blocks_.push_back(make_block(size));
}

std::vector<std::span<std::byte>> CopyBuffer::bytes(std::size_t first, std::size_t count) const
{
    std::vector<std::span<std::byte>> found;
    std::size_t begin = 0;
    for (auto const& block : blocks_) {
        auto const end = begin + block.bytes().size();
        auto const from = std::max(first, begin);
        auto const to = std::min(first + count, end);
        if (from < to) found.push_back(block.bytes().subspan(from - begin, to - from));
        begin = end;
    }
    return found;
}

}  // namespace curtail::snapshot
