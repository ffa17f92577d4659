// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "base/core/result.hpp"

namespace curtail::launch {

/// Returns the id of a run's folder. These 8 hex digits distinguish the jobs of the run from those
/// of another run with the same name.
///
/// The file `mark.json` in the folder stores the id together with the folder's path and inode. The
/// id is valid as long as the folder still has this path or this inode. A move within the file
/// system keeps the inode. Fails with `config` if path and inode both differ, as in a copy.
///
/// If the file is missing, the id is hash_path() of the folder. If `create` is set, a missing
/// folder or file is created.
[[nodiscard]] Result<std::string> run_folder_id(std::filesystem::path const& run_folder,
                                                bool create);

}  // namespace curtail::launch
