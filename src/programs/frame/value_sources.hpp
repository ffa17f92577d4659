// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/core/result.hpp"
#include "programs/frame/option.hpp"

namespace curtail::programs {

/// Completes `values`, which at first contains only what the command line contains. Each missing
/// value comes from the environment, or else from the JSON file `config`, or else from
/// Option::fallback. If no source has a value, the option stays without one. If `config` is empty,
/// no file is read.
///
/// Fails with `usage` if an environment variable is invalid, or if a required option is missing.
/// Fails with `config` if the JSON file is invalid, or with `no_input` if it cannot be opened.
[[nodiscard]] Result<void> complete(std::vector<Option> const& options, std::string const& config,
                                    OptionValues& values);

}  // namespace curtail::programs
