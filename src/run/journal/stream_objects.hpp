// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <set>

#include "run/journal/piece.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::journal {

/// What a store has under the name of a piece.
struct StoredPiece {
    std::optional<Digest> digest;  ///< of the object; empty if it is too large to be a piece
    Result<Piece> piece;           ///< an error of code `protocol` if it is damaged
};

/// The pieces of one stream in a store. Thread-safe. The functions return the store's errors
/// unchanged.
class StreamObjects {
  public:
    StreamObjects(std::shared_ptr<store::ObjectStore> store, StreamId id)
        : store_(std::move(store)), id_(std::move(id))
    {
    }
    [[nodiscard]] StreamId const& id() const { return id_; }

    /// Returns whether the piece exists, damaged or not.
    [[nodiscard]] Result<bool> exists(PieceNumber number, CallLimits const& call = {}) const;
    /// Returns when the piece was stored, by the store's clock. Returns an empty optional if it
    /// does not exist.
    [[nodiscard]] Result<std::optional<Time>> stored_at(PieceNumber number,
                                                        CallLimits const& call = {}) const;
    /// Reads the bytes of a piece. Returns an empty optional if the piece does not exist. Fails
    /// with `data` if it is too large to be a piece.
    [[nodiscard]] Result<std::optional<std::string>> bytes(PieceNumber number,
                                                           CallLimits const& call = {}) const;
    /// Reads and checks a piece. If it seems to be damaged, reads it up to two times more. Returns
    /// an empty optional if the piece does not exist.
    [[nodiscard]] Result<std::optional<StoredPiece>> read(PieceNumber number,
                                                          CallLimits const& call = {}) const;
    /// Lists the numbers of the pieces. Like each listing, it is a hint.
    [[nodiscard]] Result<std::set<PieceNumber>> listed(CallLimits const& call = {}) const;
    /// Creates a piece.
    [[nodiscard]] Result<store::CreateOutcome> create(PieceNumber number, std::string_view bytes,
                                                      CallLimits const& call = {}) const;

  private:
    [[nodiscard]] Result<std::optional<StoredPiece>> read_once(PieceNumber number,
                                                               CallLimits const& call) const;
    std::shared_ptr<store::ObjectStore> store_;
    StreamId id_;
};

}  // namespace curtail::journal
