// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>

#include "trainer/snapshot/header.hpp"

namespace curtail::snapshot {

/// A snapshot of which every rank's file is there with a valid header.
struct Snapshot {
    Metadata metadata;
    std::int64_t serial{};
    std::vector<RankHeader> headers;  ///< by rank
};

/// The snapshots in a site's folder.
struct Snapshots {
    std::vector<Snapshot> whole;       ///< the newest first
    std::vector<std::string> damaged;  ///< one sentence for each file that cannot be used
};
/// Reads the headers of all files in `folder`, which need not exist. A file that no snapshot has
/// completed yet is neither whole nor damaged. Fails with `io` if the folder cannot be read.
[[nodiscard]] Result<Snapshots> find_snapshots(std::filesystem::path const& folder);

/// Reads ranges of tensors from a snapshot, which any number of ranks may have saved. `into` has
/// the space for each of `ranges`. Fails with `data` if a file is damaged, if the snapshot lacks
/// elements of a range, or if a tensor has another shape.
[[nodiscard]] Result<void> read(std::filesystem::path const& folder, Snapshot const& snapshot,
                                std::span<ElementRange const> ranges,
                                std::span<std::span<float> const> into);

/// Removes the files of the slot of `place` that another number of ranks has saved.
void remove_other_ranks(std::filesystem::path const& folder, Place const& place);

}  // namespace curtail::snapshot
