// SPDX-License-Identifier: Apache-2.0
#include "core/huge_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace curtail {

namespace {

// The whole pages that `values` has reserved.
std::span<std::byte> pages_of(std::vector<float>& values)
{
    auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    auto const begin = reinterpret_cast<std::uintptr_t>(values.data());
    auto const first = (begin + page - 1) / page * page;
    auto const end = (begin + values.capacity() * sizeof(float)) / page * page;
    if (first >= end) return {};
    return {reinterpret_cast<std::byte*>(first), end - first};
}

// Smaller vectors share their pages with others.
constexpr std::size_t large_bytes = std::size_t{4} << 20;

}  // namespace

void reserve_in_huge_pages(std::vector<float>& values, std::size_t count)
{
    bool const is_new = values.capacity() < count;
    values.clear();
    values.reserve(count);
    auto const pages = pages_of(values);
    // Without huge pages it is only slower.
    if (is_new && pages.size() >= large_bytes) madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
}

}  // namespace curtail
