// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels.hpp"

#include "gpu/device_time.hpp"

namespace curtail::check {

model::KernelSizes large_kernel_sizes()
{
    constexpr std::int64_t depth = 20;
    return {.tokens = 8192,
            .sequence = 2048,
            .width = 64 * depth,
            .heads = {depth / 2, depth / 2, 128},
            .logit_rows = 256,
            .vocabulary = 65536,
            .padded_vocabulary = 65536};
}

void check_kernels(model::KernelSubject const& subject, double seconds_per_time,
                   std::function<void(Measured const&)> const& visit)
{
    auto const aten = model::aten_kernels();
    model::compare_kernels(subject, [&](model::KernelError const& found, auto const& call) {
        Measured line{
            .name = found.operation + (subject.type == at::kBFloat16 ? " bfloat16" : " float32"),
            .error = found.error,
            .tolerance = found.tolerance,
            .times = {}};
        auto const time_of = [&](model::Kernels const& kernels) {
            return seconds_of([&] { call(kernels); }, subject.device, seconds_per_time);
        };
        if (seconds_per_time > 0) line.times = Times{time_of(subject.kernels), time_of(*aten)};
        visit(line);
    });
}

}  // namespace curtail::check
