// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

namespace curtail::data {

/// Regular expression that matches one piece of text. A tokenizer never merges tokens from
/// different pieces, so the pattern is part of the tokenizer's definition. The pattern comes from
/// nanochat (docs/model.md). It is the pattern of GPT-4, but allows at most two digits in a piece.
inline constexpr std::string_view split_pattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}|)"
    R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
/// The name of `split_pattern` in files.
inline constexpr std::string_view split_pattern_id = "nanochat-gpt4-digits2";

/// Cuts text into pieces, each of which is tokenized on its own. The pieces joined together are the
/// text. Not thread-safe: use one Splitter per thread.
class Splitter {
  public:
    Splitter();
    ~Splitter();
    Splitter(Splitter&&) noexcept;
    Splitter& operator=(Splitter&&) noexcept;

    /// Returns the first piece of `text`. `text` must not be empty and must be UTF-8 (see
    /// find_invalid_utf8() in base/core/text.hpp).
    [[nodiscard]] std::string_view first_piece(std::string_view text) const;

    /// Calls `visit` with each piece of `text`, in order. `text` must be UTF-8.
    template <class Visit>
    void each(std::string_view text, Visit&& visit) const
    {
        while (!text.empty()) {
            auto const piece = first_piece(text);
            visit(piece);
            text.remove_prefix(piece.size());
        }
    }

  private:
    struct Code;
    std::unique_ptr<Code> code_;
};

}  // namespace curtail::data
