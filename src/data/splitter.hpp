// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

namespace curtail::data {

/// nanochat's split pattern: GPT-4's, with digits in groups of at most two. Part of what a
/// tokenizer is: merges never cross a piece.
inline constexpr std::string_view split_pattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
inline constexpr std::string_view split_pattern_id =
    "nanochat-gpt4-digits2";  ///< its name in files

/// Cuts text into the pieces that are tokenized one by one; together they are the text. One per
/// thread.
class Splitter {
  public:
    Splitter();
    ~Splitter();
    Splitter(Splitter&&) noexcept;
    Splitter& operator=(Splitter&&) noexcept;

    /// The piece at the front of `text`, which must not be empty. Valid UTF-8 only:
    /// find_invalid_utf8() comes before.
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
