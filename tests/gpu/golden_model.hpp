// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/core/result.hpp"
#include "gpu/measured.hpp"
#include "trainer/model/kernels/kernels.hpp"

namespace curtail::check {

/// Where and how a model computes.
struct ModelSubject {
    at::Device device;
    at::ScalarType type;  ///< float32 or bfloat16
    /// Returns the operations to use. If empty, those that training uses.
    std::function<std::unique_ptr<model::Kernels const>()> kernels{};
};

/// Computes the loss and all gradients of the model in `file`, such as tests/golden/gpt_mha.h5, and
/// compares them with the values in the file, which the reference's Python computed in float32. The
/// errors are relative: of the loss, and of the gradient with the greatest error, by norm. The
/// tolerance is 1e-4 for float32; for bfloat16, 1e-2 for the loss and 5e-2 for gradients. Fails if
/// the file cannot be read.
[[nodiscard]] Result<std::vector<Measured>> check_golden_model(std::filesystem::path const& file,
                                                               ModelSubject const& subject);

}  // namespace curtail::check
