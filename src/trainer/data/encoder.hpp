// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trainer/data/tokenizer.hpp"

namespace curtail::data {

/// Turns text into tokens. Caches the tokens of short pieces of text (trainer/data/splitter.hpp).
/// Not thread-safe: use one Encoder per thread. `tokenizer` must outlive the Encoder.
class Encoder {
  public:
    explicit Encoder(Tokenizer const& tokenizer) : tokenizer_(tokenizer) {}
    /// Appends the tokens of `text` to `tokens`. Fails with `data` if `text` is not UTF-8.
    [[nodiscard]] Result<void> append(std::string_view text, std::vector<Token>& tokens);
    /// Returns the tokens of `text`. Fails with `data` if `text` is not UTF-8.
    [[nodiscard]] Result<std::vector<Token>> encode(std::string_view text);

  private:
    void append_piece(std::string_view piece, std::vector<Token>& tokens);
    void merge(std::string_view piece, std::vector<Token>& tokens);

    Tokenizer const& tokenizer_;
    Splitter splitter_;
    std::unordered_map<std::string, std::vector<Token>, TextHash, std::equal_to<>> cache_;
    std::vector<Token> parts_;  ///< the tokens of the piece that merge() processed last
};

}  // namespace curtail::data
