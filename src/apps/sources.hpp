// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/option.hpp"
#include "core/result.hpp"

namespace curtail::apps {

/// Completes the values of a command line: from the environment, else from the JSON file `config`
/// (if not empty), else from defaults. Errors: `usage` for the environment and for a missing
/// required option, `config` for the file.
[[nodiscard]] Result<void> complete(std::vector<Option> const& options, std::string const& config,
                                    Values& values);

}  // namespace curtail::apps
