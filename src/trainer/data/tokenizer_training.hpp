// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trainer/data/progress.hpp"
#include "trainer/data/tokenizer.hpp"

namespace curtail::data {

/// Learns a vocabulary of `vocabulary_size` tokens, including special ones. Starts from the 256
/// single bytes. Repeatedly makes a new token of the most frequent pair of neighbouring tokens
/// inside a piece (trainer/data/splitter.hpp). If several pairs are equally frequent, takes the
/// pair whose left token has the smallest id. If several of them have this left token, takes the
/// smallest right id. Skips pairs that would make a token of more than max_token_bytes bytes.
///
/// `progress` counts new tokens. Fails with `usage` if `vocabulary_size` is out of range. Fails
/// with `data` if the text has too few pairs or is not UTF-8.
[[nodiscard]] Result<Tokenizer> train_tokenizer(std::span<std::string const> documents,
                                                std::int64_t vocabulary_size,
                                                ProgressCallback const& progress = {});

}  // namespace curtail::data
