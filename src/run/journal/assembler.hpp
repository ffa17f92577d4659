// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run/journal/piece.hpp"

// Puts a stream together from its pieces. The functions do no I/O and read no clock. The pieces may
// be hostile.
namespace curtail::journal {

/// What a stream contains.
struct StreamContent {
    std::string text;        ///< the bytes of the local files, in the order of the pieces
    std::int64_t pieces{};   ///< number of pieces in `text`
    std::optional<Tip> tip;  ///< the newest piece in `text`; empty if there is none
    PieceNumber newest;      ///< the number of the newest piece, in `text` or not; 0: none
    /// When the newest piece was stored, by the store's clock. The Assembler leaves it empty.
    std::optional<Time> stored{};
    /// For each piece that is missing from `text`: which one, and why. At most 21 texts.
    std::vector<std::string> problems;

    /// Returns the real time up to which the stream is complete, if its writer has published all
    /// that it had. Returns an empty optional if the stream has no pieces, or if the writer had
    /// more.
    [[nodiscard]] std::optional<Time> published_until() const;
};

/// Adds up the pieces of a stream.
class Assembler {
  public:
    explicit Assembler(StreamId id) : id_(std::move(id)) {}

    /// Adds the next piece, in order of number. The first one may have any number. Leaves out a
    /// piece that does not follow from the last one that was added, and notes why.
    void add(Piece const& piece);
    /// Notes that a piece is damaged or missing. `why` is a text for people.
    void skip(PieceNumber number, std::string const& why);
    [[nodiscard]] StreamContent take() { return std::move(content_); }

  private:
    /// Returns why `header` does not follow from the last piece; an empty text if it does.
    [[nodiscard]] std::string contradiction(PieceHeader const& header) const;
    void note(PieceNumber number, std::string const& why);

    StreamId id_;
    StreamContent content_;
};

/// Returns the complete lines that a local file has after the stream. `local` are bytes of that
/// file, from `offset` on. Returns an empty optional if the file lacks the bytes of the newest
/// piece; `offset` must not be after the begin of that piece.
[[nodiscard]] std::optional<std::string_view> unpublished_tail(Tip const& tip,
                                                               std::string_view local,
                                                               std::int64_t offset);

}  // namespace curtail::journal
