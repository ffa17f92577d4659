// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "run/journal/piece.hpp"

namespace curtail::journal {

/// Copies of pieces in a local folder, for readers. A copy that is damaged, or belongs to another
/// run, is not used: the reader knows the digest of each piece from the piece after it. Errors
/// count as missing copies.
class Cache {
  public:
    /// An empty `folder` means no cache. The folder is created when the first piece is stored.
    explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Returns the bytes of a piece, if there is a copy with this digest.
    [[nodiscard]] std::optional<std::string> find(StreamId const& id, PieceNumber number,
                                                  Digest const& digest) const;
    /// `stored` is when the piece was stored, by the store's clock. It becomes the time of the
    /// copy.
    void store(StreamId const& id, PieceNumber number, Digest const& digest, std::string_view bytes,
               std::optional<Time> stored) const;

    struct Newest {
        PieceNumber number;          ///< the greatest of which there is a copy; 0: there is none
        std::optional<Time> stored;  ///< as in store(), in whole seconds
    };
    [[nodiscard]] Newest newest(StreamId const& id) const;

  private:
    [[nodiscard]] std::filesystem::path folder_of(StreamId const& id) const;
    std::filesystem::path folder_;
};

}  // namespace curtail::journal
