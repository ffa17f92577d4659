// SPDX-License-Identifier: Apache-2.0
#pragma once

// One pack (lanes.hpp) of the squared ReLU, forward and backward.

#include "trainer/model/kernels/cuda/lanes.hpp"

namespace curtail::model {

/// Replaces f by relu(f)^2. Keeps NaN.
template <class T>
CURTAIL_DEVICE void square_relu_pack(T* f)
{
    auto pack = load(f);
    for (auto& value : pack.at) value = value < 0 ? 0 : value * value;
    store(f, pack);
}

/// Replaces `gradient`, the derivative of the squares, by that of f: relu(f) is their root.
template <class T>
CURTAIL_DEVICE void square_relu_backward_pack(T const* squares, T* gradient)
{
    auto const values = load(squares);
    auto derivatives = load(gradient);
    for (int i = 0; i < pack_size<T>; ++i)
        derivatives.at[i] *= 2 * PrecisionTraits<T>::root(values.at[i]);
    store(gradient, derivatives);
}

}  // namespace curtail::model
