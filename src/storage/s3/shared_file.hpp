// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail::s3 {

/// One profile of a shared credentials file: its keys in lower case, and their values.
using Profile = std::map<std::string, std::string>;

/// Finds a profile in the text of a file like `~/.aws/credentials`: lines `key = value` below a
/// line `[profile]`. Lines that begin with '#' or ';' are comments. Nested values, which begin with
/// white space, are skipped. `section` is the text between the brackets.
///
/// Returns an empty optional if the text has no such section. Fails with `config` if a line is none
/// of these. The message names `source` and the number of the line, never its content.
[[nodiscard]] Result<std::optional<Profile>> find_profile(std::string_view text,
                                                          std::string const& section,
                                                          std::string const& source);

}  // namespace curtail::s3
