// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "run/config/run.hpp"

namespace curtail::config {

/// Returns the site of `run` that a person named with `--site`. The result points into `run`. Fails
/// with `config` if the name is invalid, or if the run file names no such site; then the message
/// suggests the nearest name.
[[nodiscard]] Result<Site const*> named_site(Run const& run, std::string_view name);

}  // namespace curtail::config
