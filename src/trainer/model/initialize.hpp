// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "trainer/model/parameters.hpp"

namespace curtail::model {

/// Draws initial weights as the program nanochat does, with a random generator seeded by `seed`:
///
///     embedding                  N(0, 1)
///     head                       N(0, 0.001^2)
///     q, k, v, fc                U(-s, s) with s = sqrt(3 / width)
///     attn_out, mlp_out          0
///     resid_lambdas              1
///     x0_lambdas                 0
///
/// One random sequence fills the random weights in the order of parameter_places(). All weights
/// are therefore bit-identical for every number of ranks and threads, and for every set of vector
/// instructions of the processor.
[[nodiscard]] Parameters initial_parameters(config::Model const& shape, std::uint64_t seed);

}  // namespace curtail::model
