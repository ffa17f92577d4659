// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/http/message.hpp"

namespace curtail::s3 {

/// Which part of an object a response contains.
struct Extent {
    std::int64_t first;  ///< offset of the first byte
    std::int64_t whole;  ///< size of the whole object
};
/// Reads the extent from the headers of a response of status 200 (Content-Length) or 206
/// (Content-Range). Returns an empty optional for any other response.
[[nodiscard]] std::optional<Extent> extent_of(http::Response const& response);
/// Returns the value of the header Range for `count` bytes from `first` on.
[[nodiscard]] std::string range_of(std::int64_t first, std::int64_t count);

}  // namespace curtail::s3
