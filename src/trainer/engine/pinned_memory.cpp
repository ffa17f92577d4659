// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/pinned_memory.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cstdint>

#include "trainer/engine/host_registration.hpp"

namespace curtail::trainer {

at::Tensor pinned_memory(std::int64_t count, at::ScalarType type)
{
    return at::empty({count}, at::TensorOptions(type).pinned_memory(true));
}

// Each thread has a current device of CUDA's, at first the first. A call that needs one would make
// room for this process there, beside the ranks that use it.
AlignedMemory pinned_block(std::size_t bytes, c10::Device device)
{
    c10::DeviceGuard const guard(device);
    auto block = AlignedMemory::zeros(bytes);
    auto const all = block.bytes();
    if (!register_host_memory(all.data(), bytes)) return block;
    auto const unpin = [block, device](std::byte* memory) {
        // After an error of the GPU, every call of CUDA fails. The process then ends.
        try {
            c10::DeviceGuard const guard_of_end(device);
            unregister_host_memory(memory);
        } catch (c10::Error const&) {
        }
    };
    return {std::shared_ptr<std::byte>(all.data(), unpin), bytes};
}

void HostCopy::copy(at::Tensor const& from, at::Tensor const& to)
{
    constexpr std::int64_t elements = std::int64_t{8} << 20;
    if (!direct_ && !staging_.defined()) {
        try {
            staging_ = pinned_memory(elements, at::kFloat);
        } catch (c10::Error const&) {
            direct_ = true;
        }
    }
    if (direct_) {
        to.copy_(from);
        return;
    }
    for (std::int64_t first = 0; first < from.numel(); first += staging_.numel()) {
        auto const count = std::min(staging_.numel(), from.numel() - first);
        auto const part = staging_.narrow(0, 0, count);
        part.copy_(from.narrow(0, first, count));
        to.narrow(0, first, count).copy_(part);
    }
}

}  // namespace curtail::trainer
