// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/result.hpp"

namespace curtail::data {

/// The default limit for the size of a document, in bytes. A longer text is cut into several
/// documents.
inline constexpr std::size_t max_document_bytes = std::size_t{16} * 1024;

/// The text of several files as documents, in the order of the files.
struct Corpus {
    std::vector<std::string> documents;
    Digest digest;          ///< SHA-256 of the files' SHA-256 digests in hexadecimal, in order
    std::int64_t bytes{0};  ///< size of all documents together
    std::int64_t left_out_files{0};  ///< as TextFiles::left_out
};

/// Cuts a text into documents of at most `limit` bytes. While the rest of the text is longer, cuts
/// after the last blank line in the first `limit` bytes of the rest. A line ends with LF, CR LF or
/// CR, and is blank if it has white space alone. If these bytes contain no blank line, cuts after
/// their last line break. If they contain no line break either, cuts between two UTF-8 characters.
/// The documents joined together are the text; an empty text gives no documents.
[[nodiscard]] std::vector<std::string> cut_documents(std::string_view text,
                                                     std::size_t limit = max_document_bytes);

/// Reads the text files of `sources` (trainer/data/text_files.hpp). A file that is named or linked
/// twice is read once; otherwise its text could be both held out and trained on. A leading byte
/// order mark is left out. Fails with `no_input` if there is no text. Fails with `data` if a file
/// is not UTF-8; the message names the file and the byte offset.
[[nodiscard]] Result<Corpus> read_corpus(std::span<std::filesystem::path const> sources);

/// Which documents to train on, in this order, and which to hold out. The numbers are indices of
/// Corpus::documents.
struct TrainingSplit {
    std::vector<std::size_t> training;
    std::vector<std::size_t> held_out;
};
/// Shuffles the indices 0 to documents - 1 with `seed` and holds out the last ones. The number of
/// documents held out is `documents` times `share`, rounded to the nearest integer. If `share` is
/// positive, at least one document is held out. Fails with `usage` if `share` is negative or not
/// below 1. Fails with `data` if no document is left for training.
[[nodiscard]] Result<TrainingSplit> split_documents(std::size_t documents, double share,
                                                    std::uint64_t seed);

/// Returns the numbers 0 to n - 1 in an order that depends only on `n` and `seed`. The order is the
/// same on every machine. The function makes a Fisher-Yates shuffle from the back with the random
/// numbers of SplitMix64 (Steele, Lea and Flood 2014). To draw a number below a bound, it
/// multiplies a 64-bit random number by the bound and takes the upper 64 bits of the product. The
/// probability of each number then has a relative error below 2^-32 if n < 2^32.
[[nodiscard]] std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed);

}  // namespace curtail::data
