// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.hpp"
#include "model/gpt.hpp"

namespace curtail::evaluate {

struct SampleSettings {
    std::int64_t tokens{200};  ///< at most; fewer if the model ends the document
    double temperature{0.8};   ///< logits are divided by it; 0: always the most likely token
    std::uint64_t seed{1};
};

/// Continues `prompt` as one document. Answers prompt and continuation, bytes that are no text (a
/// cut character, control characters but newline and tab) shown as \xNN. `data` if the tokenizer
/// has another vocabulary than the model.
[[nodiscard]] Result<std::string> sample_text(model::Gpt const& gpt,
                                              data::Tokenizer const& tokenizer,
                                              std::string const& prompt,
                                              SampleSettings const& settings,
                                              data::Report const& report = {});

/// Index drawn from softmax(logits / temperature) by `uniform` in [0, 1); temperature 0: the
/// greatest, of equal ones the first.
[[nodiscard]] std::size_t draw(std::vector<float> const& logits, double temperature,
                               double uniform);

}  // namespace curtail::evaluate
