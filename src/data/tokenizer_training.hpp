// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data/progress.hpp"
#include "data/tokenizer.hpp"

namespace curtail::data {

/// Learns a vocabulary of `vocabulary` tokens, special ones included. Repeatedly turns the most
/// frequent pair of neighbouring tokens inside the pieces into a new token. Among equally frequent
/// pairs it takes the one with the smallest ids; it skips pairs of more than max_token_bytes. Fails
/// with `data` if the text has too few pairs or is not UTF-8.
[[nodiscard]] Result<Tokenizer> train_tokenizer(std::span<std::string const> documents,
                                                std::int64_t vocabulary,
                                                ProgressCallback const& progress = {});

}  // namespace curtail::data
