// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/units.hpp"
#include "trainer/data/progress.hpp"
#include "trainer/data/tokenizer.hpp"
#include "trainer/model/gpt.hpp"

namespace curtail::evaluate {

/// How to continue a prompt.
struct SampleSettings {
    /// The greatest number of tokens to add. The model may end the document earlier.
    Tokens tokens{200};
    double temperature{0.8};  ///< divisor of the logits; 0 means always the most likely token
    std::uint64_t seed{1};    ///< seed of the random numbers
};

/// Continues `prompt`, which is the beginning of one document. Returns the prompt and its
/// continuation. Passes both through printable() (base/core/text.hpp), but keeps newlines and tabs.
/// `progress` counts tokens. Fails with `data` if the prompt is not UTF-8. Fails with `data` if the
/// vocabulary of the tokenizer is larger than that of the model.
[[nodiscard]] Result<std::string> sample_text(model::Gpt const& gpt,
                                              data::Tokenizer const& tokenizer,
                                              std::string const& prompt,
                                              SampleSettings const& settings,
                                              data::ProgressCallback const& progress = {});

/// Returns the index that `uniform`, a number in [0, 1), selects from the distribution
/// softmax(logits / temperature). At temperature 0, returns the index of the greatest logit, the
/// first of equal ones.
[[nodiscard]] std::size_t draw(std::vector<float> const& logits, double temperature,
                               double uniform);

}  // namespace curtail::evaluate
