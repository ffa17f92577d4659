// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "data/progress.hpp"
#include "data/stream.hpp"
#include "model/gpt.hpp"

namespace curtail::evaluate {

/// How well a model predicts text on which it was not trained.
struct HeldOutLoss {
    std::int64_t tokens{};  ///< number of predicted tokens: all tokens of the stream but the first
    double loss{};          ///< mean, in nats per token
    /// Standard error of `loss`, in nats per token. It is computed from the mean losses of the
    /// whole rows, because these means are nearly independent. Empty if there are fewer than two
    /// whole rows.
    std::optional<double> standard_error;
    /// Loss, in nats per token, of a model that knows only the frequencies of the same tokens.
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
