// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "core/result.hpp"

namespace curtail::launch {

/// What tells the jobs of this run's folder from those of another run of its name: 8 hex digits,
/// which stay when the folder is moved or is reached by another path. `<run folder>/mark.json`
/// keeps them, with what a copy of the folder is known by; it is made if it is not there, from
/// folder_mark(), unless `make` is false: then nothing is written.
///
/// `config` if the folder is a copy: neither path nor inode are those for which the file was made.
[[nodiscard]] Result<std::string> run_mark(std::filesystem::path const& run_folder, bool make);

}  // namespace curtail::launch
