// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/option.hpp"
#include "core/result.hpp"

namespace curtail::apps {

/// Completes the values of a command line. A missing value comes from the environment, else from
/// the JSON file `config`, else from the default. If `config` is empty, there is no file.
///
/// Fails with `usage` if an environment variable is invalid, or if a required option is missing.
/// Fails with `config` if the file is invalid, or with `no_input` if it cannot be opened.
[[nodiscard]] Result<void> complete(std::vector<Option> const& options, std::string const& config,
                                    Values& values);

}  // namespace curtail::apps
