// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/gpu_operators.hpp"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/clock.hpp"

namespace curtail::model {
namespace {

struct NamedOperation {
    std::string_view name;
    bool CudaKernelSet::*operation;
};
constexpr std::array operations{NamedOperation{"embed", &CudaKernelSet::embed},
                                NamedOperation{"normalize", &CudaKernelSet::normalize},
                                NamedOperation{"mix", &CudaKernelSet::mix},
                                NamedOperation{"rotate", &CudaKernelSet::rotate},
                                NamedOperation{"square_relu", &CudaKernelSet::square_relu},
                                NamedOperation{"cross_entropy", &CudaKernelSet::cross_entropy}};

// Tokens of the check at the start.
constexpr std::int64_t checked_tokens = 64;

Result<CudaKernelSet> parse_kernels(std::string_view text)
{
    if (text.empty() || text == "ours") return CudaKernelSet::all();
    CudaKernelSet set;
    if (text == "aten") return set;
    for (auto rest = text;;) {
        auto const comma = rest.find(',');
        auto const name = rest.substr(0, comma);
        auto const* const known =
            std::find_if(operations.begin(), operations.end(),
                         [name](NamedOperation const& each) { return each.name == name; });
        if (known == operations.end())
            return fail(ExitCode::usage, "cannot choose the kernels of the GPU",
                        fmt::format("there is no operation \"{}\"", name),
                        "use ours, aten, or a list of " + to_text(CudaKernelSet::all()));
        set.*known->operation = true;
        if (comma == rest.npos) return set;
        rest.remove_prefix(comma + 1);
    }
}

Result<std::optional<GpuAttention>> parse_attention(std::string_view text)
{
    if (text.empty()) return std::nullopt;
    for (auto const attention : {GpuAttention::cudnn, GpuAttention::flash})
        if (text == to_text(attention)) return attention;
    return fail(ExitCode::usage, "cannot choose the attention of the GPU",
                fmt::format("there is no attention \"{}\"", text), "use cudnn or flash");
}

HeadSizes heads_of(config::Model const& shape)
{
    return {shape.heads, shape.kv_heads, shape.head_size()};
}

// Says why the kernels of one operation must not be used. Empty if they may.
std::string fault_of(Kernels const& kernels, CudaKernelSet operation,
                     OperatorSubject const& subject)
{
    auto const& shape = subject.shape;
    auto const tokens = std::min(checked_tokens, shape.sequence);
    KernelSizes const sizes{.tokens = tokens,
                            .sequence = tokens,
                            .width = shape.width,
                            .heads = heads_of(shape),
                            .logit_rows = tokens,
                            .vocabulary = shape.vocabulary,
                            .padded_vocabulary = shape.padded_vocabulary()};
    std::string fault;
    try {
        compare_kernels({kernels, operation, subject.device, subject.type, sizes, subject.device},
                        [&](KernelError const& error, auto const&) {
                            if (!error.good())
                                fault = fmt::format(
                                    "the error of {} is {:.1e}, and at most {:.1e} is allowed",
                                    error.operation, error.error, error.tolerance);
                        });
    } catch (c10::OutOfMemoryError const&) {
        // Training will find out what fits.
    } catch (std::exception const& broken) {
        fault = broken.what();
    }
    return fault;
}

double norm(at::Tensor const& x)
{
    return at::linalg_vector_norm(x, 2, {}, false, at::kDouble).item<double>();
}

// Says why the attention must not be used. Empty if it agrees with the flash operator.
std::string fault_of_attention(OperatorSubject const& subject)
{
    constexpr double tolerance = 0x1p-6;  // both round to bfloat16 inside
    auto const sizes = heads_of(subject.shape);
    auto const sequence = subject.shape.sequence;
    auto const random = [&](std::int64_t width) {
        return at::randn({subject.rows * sequence, width},
                         at::TensorOptions(at::kFloat).device(subject.device))
            .to(subject.type);
    };
    try {
        c10::InferenceMode const no_autograd;
        auto const qkv = random(sizes.row_width());
        auto const dy = random(sizes.query_width());
        auto const results = [&](GpuAttention with) {
            auto const out = attend(qkv, sizes, sequence, with);
            auto const d = attend_backward(dy, qkv, out, sizes, sequence, with);
            return std::array{out.y, d.q, d.k, d.v};
        };
        auto const found = results(subject.attention);
        auto const expected = results(GpuAttention::flash);
        for (std::size_t i = 0; i < found.size(); ++i) {
            auto const difference = found[i].to(at::kDouble).sub(expected[i].to(at::kDouble));
            auto const error = norm(difference) / norm(expected[i]);
            if (!(error <= tolerance))
                return fmt::format("it differs from flash by {:.1e}, and at most {:.1e} is allowed",
                                   error, tolerance);
        }
    } catch (c10::OutOfMemoryError const&) {
        return {};  // training will find out how many rows fit
    } catch (std::exception const& broken) {
        return broken.what();
    }
    return {};
}

}  // namespace

Result<GpuChoice> parse_gpu_choice(std::string_view kernels, std::string_view attention)
{
    auto const set = parse_kernels(kernels);
    if (!set) return tl::unexpected(set.error());
    auto const operation = parse_attention(attention);
    if (!operation) return tl::unexpected(operation.error());
    return GpuChoice{*set, *operation};
}

GpuFacts facts_of(at::Device device, at::ScalarType type)
{
    auto const& hooks = at::detail::getCUDAHooks();
    return {compute_capability(device.index()), hooks.hasCuDNN() ? hooks.versionRuntimeCuDNN() : 0,
            type};
}

GpuAttention preferred_attention(std::optional<GpuAttention> attention, GpuFacts const& facts)
{
    if (facts.type != at::kBFloat16) return GpuAttention::efficient;
    constexpr std::int64_t good_cudnn = 91500;
    bool const known = facts.capability / 10 == 9 || facts.capability / 10 == 10;
    return attention.value_or(known && facts.cudnn_version >= good_cudnn ? GpuAttention::cudnn
                                                                         : GpuAttention::flash);
}

CheckedOperators checked_operators(OperatorSubject const& subject)
{
    CheckedOperators checked{{nullptr, subject.attention}, subject.ours};
    auto const begin = monotonic_now();
    auto const kernels = subject.make(subject.ours);
    for (auto const& [name, operation] : operations) {
        if (!(subject.ours.*operation)) continue;
        CudaKernelSet only;
        only.*operation = true;
        bool const exists = !only.rotate || rotates(heads_of(subject.shape), subject.type);
        auto const fault = exists ? fault_of(*kernels, only, subject)
                                  : "it has no heads of " +
                                        std::to_string(subject.shape.head_size()) + " elements";
        if (fault.empty()) continue;
        checked.ours.*operation = false;
        checked.warnings.push_back(
            fmt::format("ATen's operators replace the GPU kernel {}: {}", name, fault));
    }
    checked.operators.kernels = subject.make(checked.ours);
    auto const between = monotonic_now();
    checked.kernels_took = between - begin;
    if (subject.attention != GpuAttention::cudnn) return checked;
    if (auto const fault = fault_of_attention(subject); !fault.empty()) {
        checked.warnings.push_back(fmt::format("the flash attention replaces {}'s: {}",
                                               to_text(subject.attention), fault));
        checked.operators.attention = GpuAttention::flash;
    }
    checked.attention_took = monotonic_now() - between;
    return checked;
}

std::string to_text(CudaKernelSet set)
{
    std::string text;
    for (auto const& [name, operation] : operations)
        if (set.*operation) text += (text.empty() ? "" : ",") + std::string(name);
    return text.empty() ? "none" : text;
}

std::string_view to_text(GpuAttention attention)
{
    constexpr std::array names{"flash", "cudnn", "efficient"};
    return names.at(static_cast<std::size_t>(attention));
}

}  // namespace curtail::model
