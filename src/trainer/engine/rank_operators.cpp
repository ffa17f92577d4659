// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/rank_operators.hpp"

#include <c10/core/CachingDeviceAllocator.h>

#include "trainer/engine/engine.hpp"
#include "trainer/engine/without_exceptions.hpp"

namespace curtail::trainer {
Result<std::optional<model::CheckedOperators>> rank_operators(config::Run const& run,
                                                              model::GpuChoice const& choice,
                                                              c10::Device device, std::int64_t rows,
                                                              Log const& log)
{
    std::optional<model::CheckedOperators> checked;
    if (device.is_cpu()) return checked;
    auto const check = [&]() -> Result<void> {
        auto const type = type_of(run.training, device);
        checked = model::checked_operators(
            {model::cuda_kernels, choice.kernels,
             model::preferred_attention(choice.attention, model::facts_of(device, type)), run.model,
             rows, type, device});
        // First: after a fault of a kernel, every call of CUDA fails.
        for (auto const& warning : checked->warnings) log.warning(warning);
        auto* const allocator = c10::getDeviceAllocator(device.type());
        allocator->emptyCache();  // NCCL takes memory elsewhere
        allocator->resetPeakStats(device.index());
        return {};
    };
    if (auto done = without_exceptions(check); !done)
        return tl::unexpected(
            done.error().error.with_context("cannot check the operators of this GPU"));
    return checked;
}

}  // namespace curtail::trainer
