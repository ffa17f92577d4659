// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "core/result.hpp"

/// Creates and replaces folders of prepared text without ever deleting anything else.
namespace curtail::data {

/// A folder of prepared text and its hidden siblings, for example `data` and `.data.part`.
struct OutputPaths {
    std::filesystem::path out;   ///< absolute
    std::filesystem::path part;  ///< work in progress
    std::filesystem::path old;   ///< the previous `out` while it is being replaced
    std::filesystem::path lock;
};
[[nodiscard]] OutputPaths output_paths(std::filesystem::path const& out);

/// Why `folder` may hold more than prepare wrote, so that it must not be replaced; empty if prepare
/// made it, whatever the state of its shards.
[[nodiscard]] std::string foreign_content(std::filesystem::path const& folder);

/// Removes what a killed prepare left at `path`. Fails with `cannot_create` if it holds anything
/// else.
[[nodiscard]] Result<void> remove_leftovers(std::filesystem::path const& path);

/// Renames the folder `part` to `out`, replacing an existing `out`. On failure `out` stays as it
/// was; a crash in between leaves it as `old`.
[[nodiscard]] Result<void> put_in_place(std::filesystem::path const& part,
                                        std::filesystem::path const& out,
                                        std::filesystem::path const& old);

}  // namespace curtail::data
