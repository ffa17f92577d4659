// SPDX-License-Identifier: Apache-2.0
#include "train/pinned_memory.hpp"

#include <ATen/ops/empty.h>

#include <cstdint>

#include "tensors/preallocated.hpp"

namespace curtail::train {

at::Tensor pinned_memory(std::int64_t count, at::ScalarType type)
{
    return at::empty({count}, at::TensorOptions(type).pinned_memory(true));
}

// Room to align the beginning would double the pinned memory.
snapshot::AlignedBuffer for_direct_io(at::Tensor const& memory)
{
    auto* const begin = static_cast<std::byte*>(memory.mutable_data_ptr());
    if (reinterpret_cast<std::uintptr_t>(begin) % tensors::block_bytes != 0)
        return snapshot::AlignedBuffer(memory.nbytes());
    return {std::shared_ptr<std::byte>(begin, [memory](std::byte*) {}), memory.nbytes()};
}

}  // namespace curtail::train
