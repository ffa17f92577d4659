// SPDX-License-Identifier: Apache-2.0
#include "train/rank_operators.hpp"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "train/engine.hpp"

namespace curtail::train {
namespace {

model::GpuFacts facts_of(c10::Device device)
{
    auto const& hooks = at::detail::getCUDAHooks();
    return {model::compute_capability(device.index()),
            hooks.hasCuDNN() ? hooks.versionRuntimeCuDNN() : 0};
}

}  // namespace

std::optional<model::CheckedOperators> rank_operators(config::Run const& run,
                                                      model::GpuChoice const& choice,
                                                      c10::Device device, std::int64_t rows,
                                                      Log const& log)
{
    if (device.is_cpu()) return std::nullopt;
    auto checked =
        model::checked_operators({model::cuda_kernels, choice.kernels,
                                  model::preferred_attention(choice.attention, facts_of(device)),
                                  run.model, rows, type_of(run.training, device), device});
    auto* const allocator = c10::getDeviceAllocator(device.type());
    allocator->emptyCache();  // NCCL takes memory elsewhere
    allocator->resetPeakStats(device.index());
    for (auto const& warning : checked.warnings) log.warning(warning);
    return checked;
}

}  // namespace curtail::train
