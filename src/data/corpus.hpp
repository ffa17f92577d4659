// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/digest.hpp"
#include "core/result.hpp"

namespace curtail::data {

/// Longer texts are cut into documents of about this size.
inline constexpr std::size_t document_bytes = std::size_t{16} * 1024;

/// Text as documents, in the order of the files.
struct Corpus {
    std::vector<std::string> documents;
    Digest digest;          ///< of the files' contents, in order
    std::int64_t bytes{0};  ///< all documents together
};

/// Cuts one text into documents of at most `limit` bytes, each time after the last blank line that
/// fits, or after the last line, or between two characters. The documents concatenate to the text.
/// Empty text has none.
[[nodiscard]] std::vector<std::string> cut_documents(std::string_view text,
                                                     std::size_t limit = document_bytes);

/// Reads the text files of `sources` (data/text_files.hpp), each file once: a duplicate could be
/// held out while its copy is trained on. Fails with `no_input` if there is no text, and with
/// `data`, file and byte if a file is not UTF-8.
[[nodiscard]] Result<Corpus> read_corpus(std::span<std::filesystem::path const> sources);

/// The documents for training, in training order, and the held-out ones, as indices.
struct Division {
    std::vector<std::size_t> training;
    std::vector<std::size_t> held_out;
};
/// Shuffles `documents` documents by `seed` and holds out the last `share` of them, rounded, and at
/// least one if share > 0.
[[nodiscard]] Result<Division> divide(std::size_t documents, double share, std::uint64_t seed);

/// 0 .. n-1 in an order that depends only on `seed`, on every machine: a Fisher-Yates shuffle from
/// the back with SplitMix64 (Steele, Lea and Flood 2014). A random number below a bound is the
/// upper half of the 128-bit product of number and bound (bias below 2^-32 for n < 2^32).
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed);

}  // namespace curtail::data
