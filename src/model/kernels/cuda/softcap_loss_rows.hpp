// SPDX-License-Identifier: Apache-2.0
#pragma once

// One row of the softcapped cross entropy, for any group of lanes (lanes.hpp). The formulas are
// those of docs/model.md: logits 15 tanh(z / 15), and the cross entropy of their softmax.

#include "model/kernels/cuda/arguments.hpp"
#include "model/kernels/cuda/lanes.hpp"

namespace curtail::model {

constexpr float logit_cap = 15;

/// tanh(z / 15), with an absolute error of about 1e-7. A logit needs no relative precision: it
/// enters the loss and the weights only by differences and sums.
CURTAIL_DEVICE float capped(float z) { return 1 - 2 / (1 + expf(z * (2 / logit_cap))); }

/// exp(logit) of a capped logit. It is at most exp(15), so no maximum has to be subtracted.
CURTAIL_DEVICE float weight_of(float c) { return expf(logit_cap * c); }

/// The sum of the weights of the first `vocabulary` columns.
template <class Group, class T>
CURTAIL_DEVICE float sum_of_weights(Group const& group, EntropyShape const& shape, T const* z)
{
    return group.sum([&](int lane) {
        float sum = 0;
        for_packs<T>(shape.padded, lane, group.lanes(), [&](std::int64_t first) {
            auto const pack = load(z + first);
            for (int i = 0; i < Pack<T>::size; ++i)
                if (first + i < shape.vocabulary) sum += weight_of(capped(to_float(pack.at[i])));
        });
        return sum;
    });
}

template <class Group, class T>
CURTAIL_DEVICE void fill_row(Group const& group, std::int64_t padded, float value, T* z)
{
    group.each([&](int lane) {
        Pack<T> pack;
        for (auto& element : pack.at) element = rounded<T>(value);
        for_packs<T>(padded, lane, group.lanes(),
                     [&](std::int64_t first) { store(z + first, pack); });
    });
}

/// Returns the loss of a row, and does not change z. A target outside [-1, V) makes it NaN, because
/// a kernel cannot throw.
template <class Group, class T>
CURTAIL_DEVICE float entropy_loss_row(Group const& group, EntropyShape const& shape,
                                      std::int64_t target, T const* z)
{
    if (target == -1) return 0;
    if (target < 0 || target >= shape.vocabulary) return NAN;
    return logf(sum_of_weights(group, shape, z)) - logit_cap * capped(to_float(z[target]));
}

/// Returns the loss of a row and replaces z by the derivative of scale x loss. A target outside
/// [-1, V) makes all of them NaN.
template <class Group, class T>
CURTAIL_DEVICE float entropy_row(Group const& group, EntropyShape const& shape, float scale,
                                 std::int64_t target, T* z)
{
    bool const ignored = target == -1;
    if (ignored || target < 0 || target >= shape.vocabulary) {
        float const value = ignored ? 0 : NAN;
        fill_row(group, shape.padded, value, z);
        return value;
    }
    float const of_target = capped(to_float(z[target]));  // before any lane overwrites it
    float const sum = sum_of_weights(group, shape, z);
    float const factor = scale / sum;
    group.each([&](int lane) {
        for_packs<T>(shape.padded, lane, group.lanes(), [&](std::int64_t first) {
            auto pack = load(z + first);
            for (int i = 0; i < Pack<T>::size; ++i) {
                float const c = capped(to_float(pack.at[i]));
                float const p = weight_of(c) * factor - (first + i == target ? scale : 0);
                pack.at[i] = rounded<T>(first + i < shape.vocabulary ? p * (1 - c * c) : 0);
            }
            store(z + first, pack);
        });
    });
    return logf(sum) - logit_cap * of_target;
}

}  // namespace curtail::model
