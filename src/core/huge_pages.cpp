// SPDX-License-Identifier: Apache-2.0
#include "core/huge_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace curtail {

void set_zeros(std::vector<float>& values, std::size_t count)
{
    constexpr std::size_t large = std::size_t{4} << 20;  // bytes; smaller ones share their pages
    bool const is_new = values.capacity() < count;
    values.clear();
    values.reserve(count);
    if (is_new && count * sizeof(float) >= large) {
        auto const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        auto const begin = reinterpret_cast<std::uintptr_t>(values.data());
        auto const first = (begin + page - 1) / page * page;
        auto const end = (begin + count * sizeof(float)) / page * page;
        // Without huge pages it is only slower.
        madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    }
    values.resize(count);
}

}  // namespace curtail
