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
    std::int64_t tokens{};  ///< number of predicted tokens: all but the first
    double loss{};          ///< mean, nats per token
    /// Of `loss`, computed from the means of whole rows, which are nearly independent. Empty with
    /// fewer than two rows.
    std::optional<double> standard_error;
    /// Of the same tokens, nats per token: the loss of a model that knows only their frequencies.
    double unigram_entropy{};
    /// Loss in bits per byte of the text. Comparable between models of different vocabularies.
    double bits_per_byte{};
};

/// Predicts every token of a stream once, in rows of the model's T tokens (the last row may be
/// shorter). A prediction sees only the tokens before it in its row. Fails with `data` if the
/// stream has fewer than two tokens or a larger vocabulary than the model.
[[nodiscard]] Result<HeldOutLoss> held_out_loss(model::Gpt const& gpt, data::TokenStream& stream,
                                                data::ProgressCallback const& progress = {});

}  // namespace curtail::evaluate
