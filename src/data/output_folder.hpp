// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creates and replaces data folders. Never deletes a file that `curtail-data prepare` did not
// write.

#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace curtail::data {

/// The paths of a data folder and of its hidden siblings. For the folder `data`, the siblings are
/// `.data.part`, `.data.old` and `.data.lock`.
struct OutputPaths {
    std::filesystem::path out;      ///< the data folder, absolute
    std::filesystem::path partial;  ///< the new folder while it is being written
    std::filesystem::path old;      ///< the previous `out` while it is being replaced
    std::filesystem::path lock;     ///< file that the running `prepare` locks
};
/// Returns the paths for the data folder `out`.
[[nodiscard]] OutputPaths output_paths(std::filesystem::path const& out);

/// Checks whether `folder` may be replaced: it must be a data folder, and `curtail-data prepare`
/// must have written every file in it. Returns an empty string if the folder may be replaced, even
/// if shards are missing or damaged. Otherwise returns the reason.
[[nodiscard]] std::string foreign_content(std::filesystem::path const& folder);

/// Removes what an interrupted `curtail-data prepare` left at `path`. Fails with `cannot_create`,
/// and removes nothing, if `path` contains anything else.
[[nodiscard]] Result<void> remove_leftovers(std::filesystem::path const& path);

/// Replaces the folder `out` by `partial`. First removes `old`. Then renames an existing `out` to
/// `old`, renames `partial` to `out`, and removes `old` again. If a rename fails, restores `out`
/// and fails with `cannot_create`. After a crash between the two renames, the previous folder is at
/// `old` and nothing is at `out`.
[[nodiscard]] Result<void> put_in_place(std::filesystem::path const& partial,
                                        std::filesystem::path const& out,
                                        std::filesystem::path const& old);

}  // namespace curtail::data
