// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/progress.hpp"
#include "data/tokenizer.hpp"
#include "model/gpt.hpp"

namespace curtail::evaluate {

struct SampleSettings {
    std::int64_t tokens{200};  ///< limit; the text is shorter if the model ends the document
    double temperature{0.8};   ///< divides the logits; 0 always takes the most likely token
    std::uint64_t seed{1};
};

/// Continues `prompt` as one document. Returns prompt and continuation. Bytes that are not text (a
/// truncated character, control characters other than newline and tab) appear as \xNN. Fails with
/// `data` if the tokenizer has a larger vocabulary than the model.
[[nodiscard]] Result<std::string> sample_text(model::Gpt const& gpt,
                                              data::Tokenizer const& tokenizer,
                                              std::string const& prompt,
                                              SampleSettings const& settings,
                                              data::ProgressCallback const& progress = {});

/// The index drawn from softmax(logits / temperature) by `uniform` in [0, 1). At temperature 0, the
/// index of the first greatest logit.
[[nodiscard]] std::size_t draw(std::vector<float> const& logits, double temperature,
                               double uniform);

}  // namespace curtail::evaluate
