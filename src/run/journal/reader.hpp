// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "run/journal/assembler.hpp"
#include "run/journal/cache.hpp"
#include "run/journal/stream_objects.hpp"

namespace curtail::journal {

/// The largest stream that a reader reads. Other owners write the pieces, so there must be a limit.
struct ReadLimits {
    std::int64_t bytes{std::int64_t{1} << 30};
    std::int64_t pieces{1'000'000};
};

/// Reads the streams of a run from its store. Thread-safe.
class Reader {
  public:
    /// `cache` keeps the pieces for the next reader. Without a copy, several pieces are read at a
    /// time. Each stream must agree with `named`, which the run's commits name (assemble()).
    Reader(std::shared_ptr<store::ObjectStore> store, RunId run, Cache cache,
           ReadLimits limits = {}, RunNamedPieces named = {});

    /// Reads a whole stream. A damaged piece is left out, and becomes one of
    /// StreamContent::problems. Fails with `data` if the stream exceeds the limits. Returns other
    /// errors of the store unchanged.
    [[nodiscard]] Result<StreamContent> read(SiteId const& site, Stream stream) const;

  private:
    /// The newest piece of a stream.
    struct Newest {
        PieceNumber number;          ///< 0: there is none
        std::optional<Time> stored;  ///< by the store's clock
        /// The piece, if it was read to find out whether the copies belong to this stream.
        std::optional<StoredPiece> piece;
    };
    [[nodiscard]] NamedPieces const& named_pieces_of(StreamObjects const& objects) const;
    /// Returns the newest piece of which there is a copy, if the store has a piece of this number.
    [[nodiscard]] Result<Newest> copied(StreamObjects const& objects) const;
    [[nodiscard]] Result<Newest> newest(StreamObjects const& objects) const;
    [[nodiscard]] Result<StreamContent> read_range(StreamObjects const& objects, PieceNumber from,
                                                   Newest const& to) const;

    std::shared_ptr<store::ObjectStore> store_;
    RunId run_;
    Cache cache_;
    ReadLimits limits_;
    RunNamedPieces named_;
};

}  // namespace curtail::journal
