// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace curtail::launch {

/// Returns the id of a run's folder. These 8 hex digits distinguish the jobs of the run from those
/// of another run with the same name. The id stays the same if the folder is moved or reached by
/// another path.
///
/// The file `mark.json` in the folder stores the id together with the folder's path and inode. If
/// the file is missing, the id is hash_path() of the folder; with `create` the file is then
/// written. Fails with `config` if the folder is a copy: neither its path nor its inode is the one
/// in the file.
[[nodiscard]] Result<std::string> run_folder_id(std::filesystem::path const& run_folder,
                                                bool create);

}  // namespace curtail::launch
