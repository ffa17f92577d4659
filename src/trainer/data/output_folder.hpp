// SPDX-License-Identifier: Apache-2.0
#pragma once

// Creates and replaces data folders. A regular file counts as a file of `curtail-data prepare` if
// it has a name that `prepare` uses.

#include <filesystem>
#include <string>

#include "base/core/result.hpp"

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

/// Checks whether `folder` may be replaced. It must have the manifest.json of a data folder and
/// contain only files of `curtail-data prepare`. Shards may be missing or damaged. Returns an empty
/// string if the folder may be replaced, and otherwise the reason why not.
[[nodiscard]] std::string foreign_content(std::filesystem::path const& folder);

/// Removes the folder that an interrupted `curtail-data prepare` left at `path`. Succeeds if
/// nothing is at `path`. Fails with `cannot_create`, and removes nothing, if `path` is not a folder
/// or contains anything but files of `prepare`.
[[nodiscard]] Result<void> remove_leftovers(std::filesystem::path const& path);

/// Replaces the folder `out` by `partial`. First removes `old`. Then renames an existing `out` to
/// `old`, renames `partial` to `out`, and removes `old` again. Does not check what these folders
/// contain. Call remove_leftovers() for `old`, and foreign_content() for an existing `out`, first.
/// If a rename fails, restores `out` and fails with `cannot_create`. After a crash between the two
/// renames, the previous folder is at `old` and nothing is at `out`.
[[nodiscard]] Result<void> put_in_place(std::filesystem::path const& partial,
                                        std::filesystem::path const& out,
                                        std::filesystem::path const& old);

}  // namespace curtail::data
