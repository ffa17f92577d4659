// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "model/parameters.hpp"

namespace curtail::model {

/// The reference's initial weights, drawn from `seed`: embedding N(0, 1); head N(0, 0.001^2); q, k,
/// v and fc U(-s, s) with s = sqrt(3 / C); both output projections 0; resid_lambdas 1; x0_lambdas
/// 0. One random sequence fills the parameters in order, so the bits do not depend on the number of
/// ranks or threads, nor on the vector instructions.
[[nodiscard]] Parameters initial_parameters(config::Model const& shape, std::uint64_t seed);

}  // namespace curtail::model
