// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "data/pair_table.hpp"
#include "data/splitter.hpp"

/// Byte-level byte-pair encoding with tiktoken's rank files.
namespace curtail::data {

using Token = std::uint16_t;  ///< index in the vocabulary
inline constexpr std::int64_t max_vocabulary = 65'536;
inline constexpr std::size_t max_token_bytes = 4'096;
inline constexpr std::int64_t max_tokenizer_bytes = 64 << 20;  ///< of a rank file
/// The end of the vocabulary, in this order. Text never encodes to them.
inline constexpr std::array<std::string_view, 9> special_tokens{
    "<|bos|>",           "<|user_start|>",   "<|user_end|>",   "<|assistant_start|>",
    "<|assistant_end|>", "<|python_start|>", "<|python_end|>", "<|output_start|>",
    "<|output_end|>"};
inline constexpr std::int64_t min_vocabulary =
    256 + static_cast<std::int64_t>(special_tokens.size());

/// A trained vocabulary. Immutable, so threads may share it. Movable but not copyable: its tables
/// point into it.
class Tokenizer {
  public:
    Tokenizer(Tokenizer&&) noexcept = default;
    Tokenizer& operator=(Tokenizer&&) noexcept = default;
    Tokenizer(Tokenizer const&) = delete;
    Tokenizer& operator=(Tokenizer const&) = delete;
    ~Tokenizer() = default;

    /// `ranks[i]` are the bytes of token i; empty if that token does not exist. Every single byte
    /// must be a token, and no two tokens may be equal. `source` names the tokenizer in errors.
    [[nodiscard]] static Result<Tokenizer> from_ranks(std::vector<std::string> ranks,
                                                      std::string const& source);
    /// Parses tiktoken's format: lines of base64 bytes, a space, the rank. Fails with `data` on
    /// anything else.
    [[nodiscard]] static Result<Tokenizer> parse(std::string_view text, std::string const& source);
    [[nodiscard]] static Result<Tokenizer> read(std::filesystem::path const& file);

    [[nodiscard]] std::string to_tiktoken() const;  ///< the rank file, without special tokens
    [[nodiscard]] Digest const& digest() const { return digest_; }  ///< of the rank file
    [[nodiscard]] std::int64_t vocabulary() const;                  ///< with special tokens
    [[nodiscard]] Token special(std::size_t index) const;           ///< id of special_tokens[index]
    [[nodiscard]] Token bos() const { return special(0); }          ///< precedes every document

    /// The bytes of the tokens; special ones as their names. May cut a multi-byte character. Fails
    /// on an id that does not exist.
    [[nodiscard]] Result<std::string> decode(std::span<Token const> tokens) const;

  private:
    Tokenizer() = default;
    [[nodiscard]] Result<void> index_tokens(std::string const& source);
    void index_pairs();
    friend class Encoder;
    std::vector<std::string> ranks_;
    std::unordered_map<std::string_view, Token> ids_;  ///< of the strings in ranks_
    PairTable pairs_;  ///< two neighbouring tokens -> the token they merge to
    Digest digest_;
};

}  // namespace curtail::data
