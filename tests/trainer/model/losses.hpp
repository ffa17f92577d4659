// SPDX-License-Identifier: Apache-2.0
// Losses of a model as numbers, read at once from the device that computes them.
#pragma once
#include "trainer/model/gpt.hpp"

namespace curtail::test {

/// The sum of the cross entropies of `count` targets.
struct LossSum {
    double sum{};          ///< nats
    std::int64_t count{};  ///< number of targets other than -1

    /// Returns the mean loss in nats per token.
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
    LossSum& operator+=(LossSum other)
    {
        sum += other.sum;
        count += other.count;
        return *this;
    }
};

inline LossSum read(at::Tensor const& sum, at::Tensor const& target)
{
    return {sum.item<double>(), target.ge(0).sum().item<std::int64_t>()};
}

inline LossSum loss(model::Gpt const& gpt, at::Tensor const& input, at::Tensor const& target)
{
    return read(gpt.token_losses(input, target).sum(at::kDouble), target);
}

/// As Gpt::enqueue_gradients(), but waits for the device.
inline LossSum accumulate_gradients(model::Gpt& gpt, at::Tensor const& input,
                                    at::Tensor const& target, double scale)
{
    return read(gpt.enqueue_gradients(input, target, scale), target);
}

}  // namespace curtail::test
