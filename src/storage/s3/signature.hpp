// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/time.hpp"
#include "base/http/message.hpp"
#include "storage/s3/credentials.hpp"

// Signatures of S3 requests: AWS Signature Version 4, as described in "Authenticating Requests:
// Using the Authorization Header" of the Amazon S3 API reference. libcurl's own CURLOPT_AWS_SIGV4
// is not used. It signs path and query as they are, so a server rejects some requests.

namespace curtail::s3 {

/// What a signature covers of a request.
struct SignatureInput {
    http::Method method{http::Method::get};
    std::string host;  ///< as in the URL, with the port if it is not the default
    std::string path;  ///< not encoded, with a leading slash
    std::vector<std::pair<std::string, std::string>> query;  ///< names and values, not encoded
    std::vector<http::HeaderField> headers;                  ///< without Host
    std::string body_sha256;                                 ///< in hex
};

/// What to send.
struct SignedRequest {
    std::string target;  ///< path and query, encoded: what follows the host in the URL
    std::vector<http::HeaderField> headers;  ///< all headers, including the signature, without Host
};

/// Signs the request `input` for the service s3 in `region` at the time `now`. A server rejects it
/// if `now` differs from its own clock by more than 15 minutes.
[[nodiscard]] SignedRequest sign(SignatureInput const& input, Credentials const& credentials,
                                 std::string const& region, Time now);

/// Encodes `text` for a URL: every byte except A-Z, a-z, 0-9, '-', '.', '_' and '~' becomes %XX.
/// Also leaves '/' unchanged if `keep_slashes` is true.
[[nodiscard]] std::string encode(std::string_view text, bool keep_slashes);

}  // namespace curtail::s3
