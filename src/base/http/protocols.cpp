// SPDX-License-Identifier: Apache-2.0
#include "base/http/protocols.hpp"

namespace curtail::http {
namespace {

constexpr unsigned first_with_names = 0x075500;  // 7.85.0

CURLcode restrict_by_mask(CURL* handle, long mask)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, mask);
#pragma GCC diagnostic pop
}

}  // namespace

bool has_protocol_names()
{
    return LIBCURL_VERSION_NUM >= first_with_names &&
           curl_version_info(CURLVERSION_NOW)->version_num >= first_with_names;
}

CURLcode restrict_protocols(CURL* handle, bool https, [[maybe_unused]] bool by_name)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    if (by_name) return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, https ? "https" : "http");
#endif
    return restrict_by_mask(handle, https ? CURLPROTO_HTTPS : CURLPROTO_HTTP);
}

}  // namespace curtail::http
