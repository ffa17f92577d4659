// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "data/stream.hpp"
#include "model/gpt.hpp"

namespace curtail::evaluate {

/// How well a model predicts text that it was not trained on.
struct HeldOutLoss {
    std::int64_t tokens{};                 ///< predicted: all but the first
    double loss{};                         ///< mean, nats per token
    std::optional<double> standard_error;  ///< of `loss`, from the means of whole rows, which are
                                           ///< nearly independent; two at least
    double unigram_entropy{};  ///< of the same tokens, nats: what a model knows that has only
                               ///< counted them
    double bits_per_byte{};    ///< loss in bits over the bytes of the text, so that models of
                               ///< different vocabulary compare
};

/// Predicts every token of a stream once, in rows of the model's T tokens (the last one shorter),
/// each without what was before it. `data` if the stream has fewer than two tokens or another
/// vocabulary than the model.
[[nodiscard]] Result<HeldOutLoss> held_out_loss(model::Gpt const& gpt, data::TokenStream& stream,
                                                data::Report const& report = {});

}  // namespace curtail::evaluate
