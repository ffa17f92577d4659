// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "programs/frame/program.hpp"

// The option `--cache` of the programs that read a run's commits.
namespace curtail::programs {

/// Returns the option `--cache FOLDER`. Its default is `curtail` in $XDG_CACHE_HOME, or in
/// $HOME/.cache; `none` if neither variable is an absolute path.
[[nodiscard]] Option cache_option();
/// Returns the value of `--cache`; an empty path for `none`.
[[nodiscard]] std::filesystem::path cache_folder(Arguments const& arguments);

}  // namespace curtail::programs
