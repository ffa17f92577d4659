// SPDX-License-Identifier: Apache-2.0
#pragma once

// Byte-level byte-pair encoding. Tokenizer files have tiktoken's format: each line has the bytes of
// a token, in base64, and the token's id. Tiktoken calls the id a rank; this is not the rank of the
// glossary (an MPI process).

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/result.hpp"
#include "trainer/data/pair_table.hpp"
#include "trainer/data/splitter.hpp"

namespace curtail::data {

using Token = std::uint16_t;  ///< a token's id, that is, its index in the vocabulary
inline constexpr std::int64_t max_vocabulary_size = 65'536;
inline constexpr std::size_t max_token_bytes = 4'096;
/// The greatest size of a tokenizer file.
inline constexpr std::int64_t max_tokenizer_bytes = 64 << 20;
/// Finds strings in an unordered map by a std::string_view.
struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
};

/// The special tokens. They have the last ids of the vocabulary, in this order. The encoder never
/// turns text into a special token.
inline constexpr std::array<std::string_view, 9> special_tokens{
    "<|bos|>",           "<|user_start|>",   "<|user_end|>",   "<|assistant_start|>",
    "<|assistant_end|>", "<|python_start|>", "<|python_end|>", "<|output_start|>",
    "<|output_end|>"};
inline constexpr std::int64_t min_vocabulary_size =
    256 + static_cast<std::int64_t>(special_tokens.size());

/// A trained vocabulary. Immutable, so that threads may share it. Not copyable, because its tables
/// refer to its own strings.
class Tokenizer {
  public:
    Tokenizer(Tokenizer&&) noexcept = default;
    Tokenizer& operator=(Tokenizer&&) noexcept = default;
    Tokenizer(Tokenizer const&) = delete;
    Tokenizer& operator=(Tokenizer const&) = delete;
    ~Tokenizer() = default;

    /// Makes a tokenizer. `ranks[i]` are the bytes of the token with the id i. If no token has this
    /// id, `ranks[i]` is empty. `source` names the tokenizer in error messages. Fails with `data`
    /// if one of the 256 single bytes is not a token or if two tokens have the same bytes. Fails
    /// with `data` if a token or the vocabulary is too large.
    [[nodiscard]] static Result<Tokenizer> from_ranks(std::vector<std::string> ranks,
                                                      std::string const& source);
    /// Parses the contents of a tokenizer file: lines of base64, a space and the id. Fails with
    /// `data` if a line has another form or if from_ranks() fails.
    [[nodiscard]] static Result<Tokenizer> parse(std::string_view text, std::string const& source);
    /// Reads a tokenizer file.
    [[nodiscard]] static Result<Tokenizer> read(std::filesystem::path const& file);

    /// Returns the contents of the tokenizer file, which does not list the special tokens.
    [[nodiscard]] std::string to_tiktoken() const;
    /// Returns the SHA-256 of the result of to_tiktoken().
    [[nodiscard]] Digest const& digest() const { return digest_; }
    /// Returns the number of ids, including those of the special tokens.
    [[nodiscard]] std::int64_t vocabulary_size() const;
    /// Returns true if a token has this id: below vocabulary_size(), some ids may have none.
    [[nodiscard]] bool has(std::size_t id) const;
    /// Returns the id of special_tokens[index].
    [[nodiscard]] Token special(std::size_t index) const;
    /// Returns the token that precedes every document.
    [[nodiscard]] Token bos() const { return special(0); }

    /// Returns the bytes of all `tokens`, joined together. The bytes of a special token are its
    /// name, such as `<|bos|>`. The result may begin or end inside a multi-byte character. Fails
    /// with `data` if an id does not exist.
    [[nodiscard]] Result<std::string> decode(std::span<Token const> tokens) const;

  private:
    Tokenizer() = default;
    [[nodiscard]] Result<void> index_tokens(std::string const& source);
    void index_pairs();
    friend class Encoder;
    std::vector<std::string> ranks_;
    std::unordered_map<std::string_view, Token> ids_;  ///< maps each string in ranks_ to its id
    PairTable pairs_;  ///< two neighbouring tokens -> the token into which they merge
    Digest digest_;
};

}  // namespace curtail::data
