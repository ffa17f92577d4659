// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

namespace curtail::data {

/// nanochat's split pattern: GPT-4's, with digits in groups of at most two. It is part of a
/// tokenizer's definition, since merges never cross the border of a piece.
inline constexpr std::string_view split_pattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}|)"
    R"( ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
/// The pattern's name in files.
inline constexpr std::string_view split_pattern_id = "nanochat-gpt4-digits2";

/// Cuts text into pieces, which are tokenized separately and concatenate to the text. One per
/// thread.
class Splitter {
  public:
    Splitter();
    ~Splitter();
    Splitter(Splitter&&) noexcept;
    Splitter& operator=(Splitter&&) noexcept;

    /// The first piece of `text`, which must be valid UTF-8 (check with find_invalid_utf8()) and
    /// not empty.
    [[nodiscard]] std::string_view first_piece(std::string_view text) const;

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
