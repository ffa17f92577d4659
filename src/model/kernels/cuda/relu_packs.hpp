// SPDX-License-Identifier: Apache-2.0
#pragma once

// One pack (lanes.hpp) of the squared ReLU, forward and backward.

#include "model/kernels/cuda/lanes.hpp"

namespace curtail::model {

/// Replaces f by relu(f) and sets `squares` to its squares. Keeps NaN.
template <class T>
CURTAIL_DEVICE void square_relu_pack(T* f, T* squares)
{
    auto relu = load(f);
    Pack<T> products;
    for (int i = 0; i < Pack<T>::size; ++i) {
        float const value = to_float(relu.at[i]);
        float const positive = value < 0 ? 0 : value;
        relu.at[i] = rounded<T>(positive);
        products.at[i] = rounded<T>(positive * positive);
    }
    store(f, relu);
    store(squares, products);
}

/// Replaces `relu` by its squares, and `gradient`, the derivative of the squares, by that of f.
template <class T>
CURTAIL_DEVICE void square_relu_backward_pack(T* relu, T* gradient)
{
    auto values = load(relu);
    auto derivatives = load(gradient);
    for (int i = 0; i < Pack<T>::size; ++i) {
        float const value = to_float(values.at[i]);
        derivatives.at[i] = rounded<T>(to_float(derivatives.at[i]) * 2 * value);
        values.at[i] = rounded<T>(value * value);
    }
    store(relu, values);
    store(gradient, derivatives);
}

}  // namespace curtail::model
