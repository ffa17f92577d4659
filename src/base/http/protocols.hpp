// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <curl/curl.h>

namespace curtail::http {

/// Tells whether libcurl has CURLOPT_PROTOCOLS_STR, which 7.85 introduced. Returns true only if the
/// versions at compile time and at run time both have this option.
[[nodiscard]] bool has_protocol_names();

/// Restricts `handle` to https, or to http if `https` is false. If `by_name`, uses
/// CURLOPT_PROTOCOLS_STR. Otherwise uses CURLOPT_PROTOCOLS, which newer versions of libcurl
/// deprecate. Returns libcurl's error code.
[[nodiscard]] CURLcode restrict_protocols(CURL* handle, bool https, bool by_name);

}  // namespace curtail::http
