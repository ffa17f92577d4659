// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

namespace curtail::trainer {

/// Notices a training that does not learn. A model that knows nothing gives every token the same
/// probability; its loss is ln(vocabulary). Losses near this value are normal only at the
/// beginning.
class LossWatch {
  public:
    /// The first steps of a process, which the watch ignores.
    static constexpr std::int64_t ignored_steps = 100;
    /// The number of steps in a row with a high loss after which the watch reports it.
    static constexpr std::int64_t reported_steps = 100;

    /// `vocabulary` is the number of tokens in the vocabulary.
    explicit LossWatch(std::int64_t vocabulary)
        : uniform_loss_(std::log(static_cast<double>(vocabulary)))
    {
    }

    /// Takes the loss of the next step, in nats per token; empty: it was not finite. A loss is high
    /// if it is at least uniform_loss() or not finite. Returns true at the step that completes the
    /// first row of `reported_steps` high losses after the ignored steps, and never again.
    [[nodiscard]] bool add(std::optional<double> loss)
    {
        if (++steps_ <= ignored_steps) return false;
        bool const is_high = !loss || *loss >= uniform_loss_;
        high_ = is_high ? high_ + 1 : 0;
        if (reported_ || high_ < reported_steps) return false;
        reported_ = true;
        return true;
    }
    /// Returns ln(vocabulary), in nats per token.
    [[nodiscard]] double uniform_loss() const { return uniform_loss_; }

  private:
    double uniform_loss_;
    std::int64_t steps_{0};
    std::int64_t high_{0};  ///< steps in a row with a high loss, without the ignored steps
    bool reported_{false};
};

}  // namespace curtail::trainer
