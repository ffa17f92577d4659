// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "data/pair_table.hpp"
#include "data/splitter.hpp"

/// Byte-level byte-pair encoding: training, encoding, decoding, and tiktoken's rank files.
namespace curtail::data {

using Token = std::uint16_t;  ///< position in the vocabulary
inline constexpr std::int64_t max_vocabulary = 65'536;
inline constexpr std::size_t max_token_bytes = 4'096;
inline constexpr std::int64_t max_tokenizer_bytes = 64 << 20;  ///< of a rank file
/// At the end of the vocabulary, in this order. Text never encodes to them.
inline constexpr std::array<std::string_view, 9> special_tokens{
    "<|bos|>",           "<|user_start|>",   "<|user_end|>",   "<|assistant_start|>",
    "<|assistant_end|>", "<|python_start|>", "<|python_end|>", "<|output_start|>",
    "<|output_end|>"};
inline constexpr std::int64_t min_vocabulary =
    256 + static_cast<std::int64_t>(special_tokens.size());

/// How far a long piece of work is: done and whole, in a unit of its own.
using Report = std::function<void(double done, double whole)>;

/// A trained vocabulary. Immutable; may be shared between threads.
class Tokenizer {
  public:
    Tokenizer(Tokenizer&&) noexcept =
        default;  ///< its tables point into it, so it moves but is never copied
    Tokenizer& operator=(Tokenizer&&) noexcept = default;
    Tokenizer(Tokenizer const&) = delete;
    Tokenizer& operator=(Tokenizer const&) = delete;
    ~Tokenizer() = default;

    /// `ranks[i]` are the bytes of token i; empty: no such token. All 256 single bytes must be
    /// there, and no token twice.
    [[nodiscard]] static Result<Tokenizer> from_ranks(std::vector<std::string> ranks,
                                                      std::string const& source);
    /// Reads tiktoken's form: lines of base64 bytes, a space, the rank. Refuses anything else, code
    /// `data`.
    [[nodiscard]] static Result<Tokenizer> parse(std::string_view text, std::string const& source);
    [[nodiscard]] static Result<Tokenizer> read(std::filesystem::path const& file);

    [[nodiscard]] std::string to_tiktoken()
        const;  ///< the rank file; special tokens are not part of it
    [[nodiscard]] Digest const& digest() const { return digest_; }  ///< of the rank file
    [[nodiscard]] std::int64_t vocabulary() const;                  ///< with special tokens
    [[nodiscard]] Token special(std::size_t index) const;           ///< id of special_tokens[index]
    [[nodiscard]] Token bos() const { return special(0); }  ///< stands before every document

    /// Bytes of the tokens; special ones as their names. May cut a character of several bytes.
    /// Error: an id that is no token.
    [[nodiscard]] Result<std::string> decode(std::span<Token const> tokens) const;

  private:
    Tokenizer() = default;
    friend class Encoder;
    std::vector<std::string> ranks_;
    std::unordered_map<std::string_view, Token> ids_;  ///< of the strings in ranks_
    PairTable pairs_;  ///< two neighbouring tokens -> the one they merge to
    Digest digest_;
};

/// Turns text into tokens; remembers pieces it has met. One per thread. The tokenizer must outlive
/// it.
class Encoder {
  public:
    explicit Encoder(Tokenizer const& tokenizer) : tokenizer_(tokenizer) {}
    /// Appends the tokens of `text`. Code `data` if it is not UTF-8.
    [[nodiscard]] Result<void> append(std::string_view text, std::vector<Token>& tokens);
    [[nodiscard]] Result<std::vector<Token>> encode(std::string_view text);

  private:
    void append_piece(std::string_view piece, std::vector<Token>& tokens);
    void merge(std::string_view piece, std::vector<Token>& tokens);

    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    Tokenizer const& tokenizer_;
    Splitter splitter_;
    std::unordered_map<std::string, std::vector<Token>, Hash, std::equal_to<>> known_;
    std::vector<Token> parts_;
};

/// Learns a vocabulary of `vocabulary` tokens (with special ones): again and again the most
/// frequent pair of neighbours inside the pieces becomes a token, unless it had more than
/// max_token_bytes; of equally frequent ones the pair of smallest ids. Code `data` if the text has
/// too few pairs or is not UTF-8.
[[nodiscard]] Result<Tokenizer> train_tokenizer(std::span<std::string const> documents,
                                                std::int64_t vocabulary, Report const& report = {});

}  // namespace curtail::data
