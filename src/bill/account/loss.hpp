// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/units.hpp"

// The loss in an account: on the training text and on held-out text. *Time zero* is
// Account::time_zero (account.hpp).
namespace curtail::account {

/// A point of a curve.
struct CurvePoint {
    double step{};  ///< x position on the chart, in optimizer steps
    double t{};     ///< seconds after time zero, on the signal's clock
    double loss{};
    double perplexity{};
};

/// A line on the loss charts.
struct Curve {
    std::string id;     ///< `run` for the run's curve, else the site's name
    std::string label;  ///< text for the user
    std::vector<CurvePoint> points;
};

/// The loss of a curve at its end.
struct FinalLoss {
    std::string id;
    std::string label;
    double best_perplexity{};          ///< lowest smoothed perplexity
    double tail_loss{};                ///< mean loss over the last `LossAccount::tail_steps` steps
    std::optional<double> tail_error;  ///< standard error of `tail_loss`; empty for a single step
    double wall_s{};  ///< seconds from time zero to the end of the curve's last step, on the
                      ///< signal's clock
    std::int64_t steps{};
};

/// Everything about the training loss.
struct LossAccount {
    Tokens tokens_per_step;
    std::string smoothing;  ///< description of the smoothing for the user
    std::int64_t tail_steps{};
    std::vector<Curve> raw;         ///< one curve per site, not smoothed; each point is one step
    std::vector<Curve> curves;      ///< smoothed curves; the first is that of the run
    std::vector<FinalLoss> finals;  ///< in the order of `curves`
};

/// The loss on text that no site trained on.
struct HeldOut {
    std::int64_t commit{};  ///< number of the commit whose model was evaluated
    /// Number of the newest merge commit after `commit`; empty if there is none.
    std::optional<std::int64_t> newer;
    Tokens trained;  ///< tokens that this model includes
    double loss{};   ///< nats per token
    /// In nats per token: the loss of a model that knows only how frequent each token is.
    double unigram_entropy{};
    Tokens tokens;  ///< number of tokens that the model predicted
    std::optional<double> bits_per_byte;
    /// A process evaluated the run's models one after the other: more may follow.
    bool followed{false};
};

}  // namespace curtail::account
