// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "core/units.hpp"
#include "data/progress.hpp"
#include "data/stream.hpp"
#include "model/gpt.hpp"

namespace curtail::evaluate {

/// How well a model predicts text on which it was not trained.
struct HeldOutLoss {
    Tokens tokens;  ///< number of predicted tokens: all tokens of the stream but the first
    double loss{};  ///< mean, in nats per token
    /// Standard error of `loss`, in nats per token. It is computed from the mean losses of the rows
    /// of full length (see held_out_loss()), because these means are nearly independent. Empty if
    /// fewer than two rows have full length.
    std::optional<double> standard_error;
    /// Result of data::unigram_entropy() for the stream, in nats per token. This would be the loss
    /// of a model that knows only the frequency of each token in the stream.
    double unigram_entropy{};
    /// Loss in bits per byte of the text. It can be compared between models with different
    /// vocabularies.
    double bits_per_byte{};
};

/// Predicts every token of `stream` once, except the first. `stream` must be the held-out split.
/// Cuts the stream into rows of the model's sequence length; the last row may be shorter. After
/// each token of a row, the model predicts the next token of the stream from the tokens of this row
/// so far. `progress` counts tokens. Fails with `data` if the stream has fewer than two tokens or a
/// larger vocabulary than the model.
[[nodiscard]] Result<HeldOutLoss> held_out_loss(model::Gpt const& gpt, data::TokenStream& stream,
                                                data::ProgressCallback const& progress = {});

}  // namespace curtail::evaluate
