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

inline constexpr std::size_t document_bytes =
    std::size_t{16} * 1024;  ///< longer texts are cut into documents of about this size

/// Text as documents, in the order of their files.
struct Corpus {
    std::vector<std::string> documents;
    Digest digest;          ///< of the files' contents, in order
    std::int64_t bytes{0};  ///< all documents together
};

/// Cuts one text into documents of at most `limit` bytes: after the last blank line that fits, else
/// after the last line, else between two characters. Together they are the text. Empty text has
/// none.
[[nodiscard]] std::vector<std::string> cut_documents(std::string_view text,
                                                     std::size_t limit = document_bytes);

/// Reads plain text. A source is a file, or a folder whose `.txt` files are taken, with those of
/// its subfolders, sorted by path. Links are followed; a file that is met again, by another name or
/// in another source, is taken once. Failures: `no_input` for what is missing, empty or a `.txt`
/// that is no plain file, `data` with file and byte for what is not UTF-8.
[[nodiscard]] Result<Corpus> read_corpus(std::span<std::filesystem::path const> sources);

/// Which documents are for training, in which order, and which are held out.
struct Division {
    std::vector<std::size_t> training;
    std::vector<std::size_t> held_out;
};
/// Shuffles `documents` documents by `seed` and holds out the last `share` of them, rounded, but at
/// least one if share > 0.
[[nodiscard]] Result<Division> divide(std::size_t documents, double share, std::uint64_t seed);

/// 0 .. n-1 in an order that depends on `seed` alone, on every machine: Fisher and Yates, from the
/// back, with numbers of SplitMix64 (Steele, Lea and Flood 2014); a number below a bound is the
/// upper half of its 128-bit product with the bound (bias below 2^-32 for n < 2^32).
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed);

}  // namespace curtail::data
