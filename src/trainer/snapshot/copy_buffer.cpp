// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshot/copy_buffer.hpp"

#include <algorithm>

namespace curtail::snapshot {

CopyBuffer::CopyBuffer(std::size_t bytes, BlockSource const& source)
{
    for (std::size_t begin = 0; begin < bytes; begin += source.largest)
        blocks_.push_back(source.make(std::min(source.largest, bytes - begin)));
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
