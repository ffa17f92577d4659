// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <stop_token>

#include "base/core/units.hpp"
#include "trainer/data/progress.hpp"
#include "trainer/data/stream.hpp"
#include "trainer/model/gpt.hpp"

namespace curtail::evaluate {

/// How well a model predicts text on which it was not trained.
struct HeldOutLoss {
    Tokens tokens;  ///< number of predicted tokens: all tokens of the split but the first
    double loss{};  ///< mean loss of the predicted tokens, in nats per token
    /// Standard error of `loss`, in nats per token. held_out_loss() computes it from the mean loss
    /// of each row of full length. The means of different rows are nearly independent; the losses
    /// within a row are not. Empty if fewer than two rows have full length.
    std::optional<double> standard_error;
    /// Result of data::unigram_entropy() for the held-out split, in nats per token. A model that
    /// knows only the frequency of each token would have this loss.
    double unigram_entropy{};
    /// The loss in bits per byte of the held-out text. With this number, models with different
    /// vocabularies can be compared.
    double bits_per_byte{};
};

/// Predicts every token of `stream` once, except the first. `stream` must be the held-out split.
/// Cuts the stream into rows of the model's sequence length; the last row may be shorter. After
/// each token of a row, the model predicts the next token of the stream from the tokens of this row
/// so far. `progress` counts tokens. Fails with `data` if the stream has fewer than two tokens.
/// Fails with `data` if the vocabulary of the data is larger than that of the model. Fails with
/// `interrupted`, within a pass of 4096 tokens, after a stop request.
[[nodiscard]] Result<HeldOutLoss> held_out_loss(model::Gpt const& gpt, data::TokenStream& stream,
                                                data::ProgressCallback const& progress = {},
                                                std::stop_token const& stop = {});

}  // namespace curtail::evaluate
