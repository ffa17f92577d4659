// SPDX-License-Identifier: Apache-2.0
#include "core/large_memory.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace curtail {

void prefer_huge_pages(std::span<std::byte> memory)
{
    constexpr std::uintptr_t huge_page = std::uintptr_t{1} << 21;
    auto const begin = reinterpret_cast<std::uintptr_t>(memory.data());
    auto const first = (begin + huge_page - 1) / huge_page * huge_page;
    auto const end = (begin + memory.size()) / huge_page * huge_page;
    if (first < end) madvise(memory.data() + (first - begin), end - first, MADV_HUGEPAGE);
}

LargeBuffer::LargeBuffer(std::size_t capacity)
    : memory_(std::make_unique_for_overwrite<std::byte[]>(capacity))
{
    prefer_huge_pages({memory_.get(), capacity});
}

std::span<std::byte> LargeBuffer::resize(std::size_t size)
{
    size_ = size;
    return {memory_.get(), size_};
}

}  // namespace curtail
