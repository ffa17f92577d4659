// SPDX-License-Identifier: Apache-2.0
#pragma once

// Which operators a model uses on a GPU, and the check that they compute what ATen's do
// (docs/gpu.md).

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.hpp"
#include "base/core/time.hpp"
#include "run/config/model.hpp"
#include "trainer/model/gpt.hpp"
#include "trainer/model/kernels/comparison.hpp"

namespace curtail::model {

/// The operators that a user asks for (curtail-train's --gpu-kernels and --gpu-attention).
struct GpuChoice {
    CudaKernelSet kernels{CudaKernelSet::all()};
    std::optional<GpuAttention> attention{};  ///< empty: the faster one that the GPU has
};

/// Reads the values of the two options; an empty text means the default. `kernels` is "ours",
/// "aten", or a list of operations such as "normalize,rotate". `attention` is "cudnn" or "flash".
/// Fails with `usage` for another text.
[[nodiscard]] Result<GpuChoice> parse_gpu_choice(std::string_view kernels,
                                                 std::string_view attention);

/// What decides about the attention.
struct GpuFacts {
    int capability{};              ///< compute capability: 90 for 9.0
    std::int64_t cudnn_version{};  ///< such as 91900 for 9.19.0; 0: there is no cuDNN
    at::ScalarType type{at::kBFloat16};
};

/// Returns the facts of a GPU on which tensors of this type are computed.
[[nodiscard]] GpuFacts facts_of(at::Device device, at::ScalarType type);

/// Returns the memory-efficient operator for float32. Otherwise, returns `attention` if there is
/// one. Otherwise, returns cuDNN's operator for the compute capabilities 9.x and 10.x if cuDNN
/// is 9.15 or newer, as PyTorch 2.11 does.
[[nodiscard]] GpuAttention preferred_attention(std::optional<GpuAttention> attention,
                                               GpuFacts const& facts);

/// Makes the kernels whose operations of a set are kernels of our own.
using MakeKernels = std::function<std::unique_ptr<Kernels const>(CudaKernelSet)>;

/// Operators to check, and the tensors to check them with.
struct OperatorSubject {
    MakeKernels make;
    CudaKernelSet ours;  ///< the operations that are kernels of our own
    GpuAttention attention;
    config::Model shape;  ///< whose widths the tensors have
    std::int64_t rows{};  ///< of the attention
    at::ScalarType type;
    at::Device device;
};

/// Operators that a check has found to be right.
struct CheckedOperators {
    Operators operators;
    CudaKernelSet ours;
    std::vector<std::string> warnings{};  ///< why an operator was replaced, one for each
    FractionalSeconds kernels_took{};     ///< the comparison of the kernels
    FractionalSeconds attention_took{};   ///< includes the start of cuDNN, which training needs too
};

/// Compares each operation of `subject.ours` with ATen's operators on 64 tokens, and replaces those
/// that exceed their tolerances or cannot start. Then compares the attention with the flash
/// operator, which replaces it in the same way. With the rows of a micro-batch, cuDNN makes the
/// plan here that training needs.
[[nodiscard]] CheckedOperators checked_operators(OperatorSubject const& subject);

/// Returns the names of the operations in a set, with commas between them, or "none".
[[nodiscard]] std::string to_text(CudaKernelSet set);
[[nodiscard]] std::string_view to_text(GpuAttention attention);

}  // namespace curtail::model
