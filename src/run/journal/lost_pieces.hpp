// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <vector>

#include "run/journal/stream_objects.hpp"

// A store may lose pieces, for example because it was restored from a backup. The folder of a site
// can make them again with the same bytes: it has the local file, and the headers of the pieces.
namespace curtail::journal {

/// Returns the path of the file in which the writer of the stream in `file` keeps the header of
/// each piece that it has created.
[[nodiscard]] std::filesystem::path headers_file(std::filesystem::path const& file);

/// Keeps a header. The digest of its piece is kept with it.
[[nodiscard]] Result<void> keep_header(std::filesystem::path const& file, StreamId const& id,
                                       Tip const& tip);

/// What restore_lost_pieces() has done about the pieces that the store lacks.
struct LostPieces {
    std::vector<PieceNumber> restored;
    /// Those that could not be restored: the local file no longer has their bytes, or the store has
    /// another piece under this number.
    std::vector<PieceNumber> lost;
};

/// Creates the pieces again that the writer of the local file `file` has created and that the store
/// lacks, the oldest first. Does nothing if the store has none of the pieces of this writer: it is
/// another store then, or the run has begun once more. Returns errors of the store and of the file.
[[nodiscard]] Result<LostPieces> restore_lost_pieces(StreamObjects const& objects,
                                                     std::filesystem::path const& file,
                                                     CallLimits const& call = {});

}  // namespace curtail::journal
