// SPDX-License-Identifier: Apache-2.0
#include "train/pinned_memory.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>

#include "train/host_registration.hpp"

namespace curtail::train {

at::Tensor pinned_memory(std::int64_t count, at::ScalarType type)
{
    return at::empty({count}, at::TensorOptions(type).pinned_memory(true));
}

snapshot::AlignedBuffer pinned_block(std::size_t bytes)
{
    snapshot::AlignedBuffer buffer(bytes);  // has all its pages
    auto const all = buffer.bytes();
    if (!register_host_memory(all.data(), bytes)) return buffer;
    return {std::shared_ptr<std::byte>(
                all.data(), [buffer](std::byte* memory) { unregister_host_memory(memory); }),
            bytes};
}

void HostCopy::copy(at::Tensor const& from, at::Tensor const& to)
{
    constexpr std::int64_t elements = std::int64_t{8} << 20;
    if (direct_) {
        to.copy_(from);
        return;
    }
    if (!staging_.defined()) staging_ = pinned_memory(elements, at::kFloat);
    for (std::int64_t first = 0; first < from.numel(); first += staging_.numel()) {
        auto const count = std::min(staging_.numel(), from.numel() - first);
        auto const part = staging_.narrow(0, 0, count);
        part.copy_(from.narrow(0, first, count));
        to.narrow(0, first, count).copy_(part);
    }
}

}  // namespace curtail::train
