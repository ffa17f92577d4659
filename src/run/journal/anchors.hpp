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
struct Anchor {
    Digest sha256;   ///< of the whole piece
    std::string by;  ///< the first record that names the piece, such as `commit 7`
    /// The record is a commit: it fixes the piece. Otherwise it is a closing, which whoever can
    /// write the site's journal can replace, too.
    bool fixes{true};
    friend bool operator==(Anchor const&, Anchor const&) = default;
};
/// The pieces of one stream that records name.
using Anchors = std::map<PieceNumber, Anchor>;
/// Those of all streams of a run.
using RunAnchors = std::map<std::pair<SiteId, Stream>, Anchors>;

/// Adds what a commit names. Add the commits in order.
void add_anchors(RunAnchors& anchors, CommitNumber commit,
                 std::map<SiteId, protocol::JournalHeads> const& heads);

/// Adds what a closing names, after all commits.
void add_anchors(RunAnchors& anchors, protocol::Closing const& closing);

/// Returns those of one stream; empty if no record names it.
[[nodiscard]] Anchors const& anchors_of(RunAnchors const& anchors, SiteId const& site,
                                        Stream stream);

}  // namespace curtail::journal
