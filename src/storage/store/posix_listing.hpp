// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "storage/store/posix_root.hpp"

// Listings of a store of files.
namespace curtail::store {

/// Returns whether `file` has the form of temporary_name().
[[nodiscard]] bool is_temporary_name(std::string_view file);

/// Lists the regular files of `folder` and its subfolders as ObjectStore::list() requires. Skips
/// temporary files, and everything that is neither a regular file nor a folder. Does not follow
/// symbolic links.
[[nodiscard]] Result<void> list_files(PosixRoot const& root, ObjectFolder const& folder,
                                      std::string const& after, ObjectStore::Visit const& visit,
                                      CallLimits const& call);

/// Lists the temporary files and folders of `folder` and its subfolders.
[[nodiscard]] Result<std::vector<Leftover>> list_temporaries(PosixRoot const& root,
                                                             ObjectFolder const& folder,
                                                             CallLimits const& call);

/// Removes a temporary file, or a temporary folder if it is empty. Succeeds also if it does not
/// exist. Fails with `data` if `name` is not the name of a temporary file.
[[nodiscard]] Result<void> remove_temporary(PosixRoot const& root, std::string const& name);

}  // namespace curtail::store
