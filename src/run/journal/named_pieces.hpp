// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <utility>

#include "protocol/records/record.hpp"
#include "run/journal/piece.hpp"

// Which pieces of the sites' journals the chain of commits fixes.
namespace curtail::journal {

/// A piece as a record of the run names it.
struct NamedPiece {
    Digest sha256;   ///< of the whole piece
    std::string by;  ///< the first record that names the piece, such as `commit 7`
    /// The record is a commit: it fixes the piece. Otherwise it is a closing, which whoever can
    /// write the site's journal can replace, too.
    bool fixes{true};
    friend bool operator==(NamedPiece const&, NamedPiece const&) = default;
};
/// The pieces of one stream that records name.
using NamedPieces = std::map<PieceNumber, NamedPiece>;
/// Those of all streams of a run.
using RunNamedPieces = std::map<std::pair<SiteId, Stream>, NamedPieces>;

/// Adds what a commit names. Add the commits in order.
void add_named_pieces(RunNamedPieces& named, CommitNumber commit,
                      std::map<SiteId, protocol::JournalHeads> const& heads);

/// Adds what a closing names, after all commits.
void add_named_pieces(RunNamedPieces& named, protocol::Closing const& closing);

/// Returns those of one stream; empty if no record names it.
[[nodiscard]] NamedPieces const& named_pieces_of(RunNamedPieces const& named, SiteId const& site,
                                                 Stream stream);

}  // namespace curtail::journal
