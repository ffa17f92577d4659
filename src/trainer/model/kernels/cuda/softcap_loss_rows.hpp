// SPDX-License-Identifier: Apache-2.0
#pragma once

// One row of the softcapped cross entropy, for any group of lanes (lanes.hpp). The formulas are
// those of docs/model.md: logits 15 tanh(z / 15), and the cross entropy of their softmax. With
// q = 1 / (1 + exp(2 z / 15)), a logit is 15 - 30 q, and its derivative is 4 q (1 - q).

#include "trainer/model/kernels/cuda/arguments.hpp"
#include "trainer/model/kernels/cuda/lanes.hpp"

namespace curtail::model {

constexpr float logit_cap = 15;
constexpr float log2_of_e = 1.4426950408889634F;

/// q of the product z.
template <class T>
CURTAIL_DEVICE float quotient_of(float z)
{
    return PrecisionTraits<T>::inverse(
        1 + PrecisionTraits<T>::power_of_2(z * (2 / logit_cap * log2_of_e)));
}

CURTAIL_DEVICE float logit_of(float q) { return logit_cap - 2 * logit_cap * q; }

/// exp(logit). It is at most exp(15), so no maximum has to be subtracted.
template <class T>
CURTAIL_DEVICE float weight_of(float q)
{
    constexpr float cap = logit_cap * log2_of_e;
    return PrecisionTraits<T>::power_of_2(cap - 2 * cap * q);
}

/// Calls body(index in the pack) for the elements of a pack that are not padding. `left` is the
/// number of columns from the first of them to the end of the vocabulary.
template <class T, class Body>
CURTAIL_DEVICE void for_logits(int left, Body const& body)
{
    if (left >= pack_size<T>) {
        for (int i = 0; i < pack_size<T>; ++i) body(i);
    } else {
        for (int i = 0; i < pack_size<T>; ++i)
            if (i < left) body(i);
    }
}

/// The sum of the weights of the first `vocabulary` columns.
template <class Group, class T>
CURTAIL_DEVICE float sum_of_weights(Group const& group, EntropyShape const& shape, T const* z)
{
    return group.sum([&](int lane) {
        float sum = 0;
        for_packs<T>(shape.padded, lane, group.lanes(), [&](int first) {
            auto const pack = load(z + first);
            for_logits<T>(shape.vocabulary - first,
                          [&](int i) { sum += weight_of<T>(quotient_of<T>(pack.at[i])); });
        });
        return sum;
    });
}

template <class Group, class T>
CURTAIL_DEVICE void fill_row(Group const& group, int padded, float value, T* z)
{
    group.each([&](int lane) {
        Pack<T> pack;
        for (auto& element : pack.at) element = value;
        for_packs<T>(padded, lane, group.lanes(), [&](int first) { store(z + first, pack); });
    });
}

CURTAIL_DEVICE bool is_word(EntropyShape const& shape, std::int64_t target)
{
    return target >= 0 && target < shape.vocabulary;
}

/// Returns the loss of a row, and does not change z. A target outside [-1, V) makes it NaN, because
/// a kernel cannot throw.
template <class Group, class T>
CURTAIL_DEVICE float entropy_loss_row(Group const& group, EntropyShape const& shape,
                                      std::int64_t target, T const* z)
{
    if (!is_word(shape, target)) return target == -1 ? 0 : NAN;
    return logf(sum_of_weights(group, shape, z)) - logit_of(quotient_of<T>(to_float(z[target])));
}

/// Returns the loss of a row and replaces z by the derivative of scale x loss. A target outside
/// [-1, V) makes all of them NaN.
template <class Group, class T>
CURTAIL_DEVICE float entropy_row(Group const& group, EntropyShape const& shape, float scale,
                                 std::int64_t target, T* z)
{
    if (!is_word(shape, target)) {
        float const value = target == -1 ? 0 : NAN;
        fill_row(group, shape.padded, value, z);
        return value;
    }
    float const of_target = quotient_of<T>(to_float(z[target]));  // before a lane overwrites it
    float const sum = sum_of_weights(group, shape, z);
    float const factor = 4 * scale / sum;
    group.each([&](int lane) {
        for_packs<T>(shape.padded, lane, group.lanes(), [&](int first) {
            auto const logits = load(z + first);
            Pack<T> derivatives{};
            for_logits<T>(shape.vocabulary - first, [&](int i) {
                float const q = quotient_of<T>(logits.at[i]);
                derivatives.at[i] = weight_of<T>(q) * factor * (q - q * q);
            });
            auto const at = static_cast<int>(target) - first;
            if (at >= 0 && at < pack_size<T>)
                for (int i = 0; i < pack_size<T>; ++i)
                    if (i == at)
                        derivatives.at[i] -= 4 * scale * (of_target - of_target * of_target);
            store(z + first, derivatives);
        });
    });
    return logf(sum) - logit_of(of_target);
}

}  // namespace curtail::model
