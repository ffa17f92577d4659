// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace curtail::report {

/// `text` in gzip format (RFC 1952) at the highest level. Equal texts give equal bytes: the header
/// holds no time, name or system.
[[nodiscard]] std::string gzip(std::string_view text);

}  // namespace curtail::report
