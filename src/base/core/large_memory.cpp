// SPDX-License-Identifier: Apache-2.0
#include "base/core/large_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/core/direct_io.hpp"

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

AlignedMemory::AlignedMemory(std::size_t bytes) : size_(bytes)
{
    auto const alignment = bytes < huge_page ? direct_block_bytes : huge_page;
    auto const whole = (bytes + alignment - 1) / alignment * alignment;
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(alignment, whole));
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    memory_ = {memory, [](std::byte* taken) { std::free(taken); }};
    prefer_huge_pages({memory, whole});
}

AlignedMemory AlignedMemory::zeros(std::size_t bytes)
{
    AlignedMemory memory(bytes);
    std::ranges::fill(memory.bytes(), std::byte{0});
    return memory;
}

}  // namespace curtail
