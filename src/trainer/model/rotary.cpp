// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/rotary.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>

namespace curtail::model {

RotaryTables rotary_tables(std::int64_t sequence, std::int64_t head_size, at::TensorOptions options)
{
    auto const real = at::TensorOptions(at::kFloat);
    auto const inverse =
        at::pow(10000, at::arange(0, head_size, 2, real).div_(head_size)).reciprocal_();
    auto const angle =
        at::mul(at::arange(sequence, real).unsqueeze(1), inverse);  // (sequence, D / 2)
    return {angle.cos().to(at::kBFloat16).to(options), angle.sin().to(at::kBFloat16).to(options)};
}

}  // namespace curtail::model
