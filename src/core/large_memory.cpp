// SPDX-License-Identifier: Apache-2.0
#include "core/large_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace curtail {
namespace {

constexpr std::uintptr_t huge_page = std::uintptr_t{1} << 21;

// Advises the kernel about the whole pages in `memory`. Advice that it cannot follow does no harm.
void advise(std::span<std::byte> memory, std::uintptr_t page, int advice)
{
    auto const begin = reinterpret_cast<std::uintptr_t>(memory.data());
    auto const first = (begin + page - 1) / page * page;
    auto const end = (begin + memory.size()) / page * page;
    if (first < end) madvise(memory.data() + (first - begin), end - first, advice);
}

}  // namespace

void prefer_huge_pages(std::span<std::byte> memory) { advise(memory, huge_page, MADV_HUGEPAGE); }

void let_kernel_reclaim(std::span<std::byte> memory)
{
    static auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    advise(memory, page, MADV_FREE);
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
