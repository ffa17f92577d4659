// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <curl/curl.h>

namespace curtail::http {

/// Whether the libcurl in use has CURLOPT_PROTOCOLS_STR (7.85): both the one this file was compiled
/// with and the one loaded at run time.
[[nodiscard]] bool has_protocol_names();

/// Restricts a handle to https or http. Without `by_name`, uses CURLOPT_PROTOCOLS, which newer
/// versions deprecate. Returns libcurl's error code.
[[nodiscard]] CURLcode restrict_protocols(CURL* handle, bool https, bool by_name);

}  // namespace curtail::http
