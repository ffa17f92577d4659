// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <curl/curl.h>

namespace curtail::http {

/// Tells whether libcurl has CURLOPT_PROTOCOLS_STR (7.85). Both the libcurl of the compilation and
/// the one loaded at run time must have the option.
[[nodiscard]] bool has_protocol_names();

/// Restricts a handle to https, or to http if not `https`. If `by_name`, uses
/// CURLOPT_PROTOCOLS_STR; otherwise CURLOPT_PROTOCOLS, which newer versions deprecate. Returns
/// libcurl's error code.
[[nodiscard]] CURLcode restrict_protocols(CURL* handle, bool https, bool by_name);

}  // namespace curtail::http
