// SPDX-License-Identifier: Apache-2.0
#include "core/direct_io.hpp"

#include <fcntl.h>

#include <new>

namespace curtail {

AlignedMemory aligned_memory(std::size_t bytes)
{
    auto const whole = (bytes + direct_block_bytes - 1) / direct_block_bytes * direct_block_bytes;
    AlignedMemory memory(static_cast<std::byte*>(std::aligned_alloc(direct_block_bytes, whole)));
    if (!memory) throw std::bad_alloc();
    return memory;
}

bool set_direct(int fd, bool direct)
{
    int const flags = fcntl(fd, F_GETFL);
    if (flags < 0) return false;
    return fcntl(fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace curtail
