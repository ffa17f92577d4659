// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/core/files.hpp"
#include "base/core/pieces.hpp"
#include "base/core/result.hpp"
#include "protocol/records/record.hpp"

namespace curtail::chain {

/// The folder with a site's own copies of stored payloads (protocol::Keep). The site stores a
/// payload again if it disappears from the store. Thread-safe. Only one process of the site uses
/// the folder.
class KeptPayloads {
  public:
    explicit KeptPayloads(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Writes a copy of the payload. `bytes` is its stored form. Fails with the error of the file
    /// system.
    [[nodiscard]] Result<void> keep(protocol::PartRef const& part, Pieces const& bytes);
    /// Deletes all other copies of the round of `parts` and of earlier rounds. A process that has
    /// not read the newest commit yet must not delete the site's copies of newer models. Deletes
    /// nothing if there is no copy of the first of `parts`, because its writing may have failed.
    void keep_only(std::vector<protocol::PartRef> const& parts);
    /// Opens the copy, to read it. Returns an invalid descriptor if there is none.
    [[nodiscard]] Fd open(protocol::PartRef const& part) const;
    /// Returns the bytes of the copy. Returns an empty optional if there is none, or if it is
    /// damaged.
    [[nodiscard]] std::optional<std::string> find(protocol::PartRef const& part);

  private:
    [[nodiscard]] std::filesystem::path path_of(protocol::PartRef const& part) const;

    std::filesystem::path folder_;
    std::mutex mutex_;
};

}  // namespace curtail::chain
