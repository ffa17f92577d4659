// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run/journal/named_pieces.hpp"

// Puts a stream together from its pieces. The functions do no I/O and read no clock. The pieces may
// be hostile.
namespace curtail::journal {

/// What a stream contains.
struct StreamContent {
    std::string text;  ///< the bytes of the local files, in the order of the pieces
    /// How many bytes at the begin of `text` the chain of commits fixes: those of the pieces that a
    /// chain of digests connects with a piece that a commit names. It ends before the first gap.
    std::size_t fixed{};
    std::int64_t pieces{};             ///< number of pieces in `text`
    std::optional<Tip> tip;            ///< the newest piece in `text`; empty if there is none
    std::optional<TimeScale> clock{};  ///< of the first piece that names one
    PieceNumber newest;  ///< the number of the newest piece, in `text` or not; 0: none
    /// When the newest piece was stored, by the store's clock. The Assembler leaves it empty.
    std::optional<Time> stored{};
    /// Whether `text` lacks lines of a piece. Otherwise, its writer published them again.
    bool lacks_lines{false};
    /// For each run of pieces that are missing from `text`: which ones, why the first is missing,
    /// and when its lines were written. At most 21 texts.
    std::vector<std::string> problems;

    /// Returns the real time up to which the stream is complete, if its writer has published all
    /// that it had. Returns an empty optional if the stream has no pieces, or if the writer had
    /// more.
    [[nodiscard]] std::optional<Time> published_until() const;
};

/// A piece, or why there is none.
using PieceOrFault = tl::expected<Piece, std::string>;

/// Puts pieces together. `pieces` are those from the number `first` on, without gaps.
///
/// Leaves out a piece that does not follow from the one before it. `named` are those of the
/// stream. If a commit names another piece than the one that is there, leaves out this piece and
/// those before it that no earlier commit names.
[[nodiscard]] StreamContent assemble(StreamId const& id, PieceNumber first,
                                     std::vector<PieceOrFault> pieces, NamedPieces const& named);

/// Returns the complete lines that a local file has after the stream. `local` are bytes of that
/// file, from `offset` on. Returns an empty optional if the file lacks the bytes of the newest
/// piece; `offset` must not be after the begin of that piece.
[[nodiscard]] std::optional<std::string_view> unpublished_tail(Tip const& tip,
                                                               std::string_view local,
                                                               std::int64_t offset);

}  // namespace curtail::journal
