// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace curtail::launch {

/// The id of a run's folder: 8 hex digits that distinguish its jobs from those of another run with
/// the same name. The id stays when the folder is moved or reached by another path.
///
/// `<run folder>/mark.json` stores the id with the folder's path and inode. If the file is missing,
/// the id is hash_path(), and `create` decides whether to write the file. `config` if the folder is
/// a copy: neither its path nor its inode match the file.
[[nodiscard]] Result<std::string> run_folder_id(std::filesystem::path const& run_folder,
                                                bool create);

}  // namespace curtail::launch
