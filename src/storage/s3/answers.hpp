// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.hpp"
#include "base/core/time.hpp"

// The XML documents that S3 servers send and receive. pugixml parses them; it expands no external
// entities.

namespace curtail::s3 {

/// The reason for which a server refused a request.
struct ErrorAnswer {
    std::string code;     ///< for example `NoSuchKey`
    std::string message;  ///< for people
};
/// Parses the body of an error response. Returns empty texts if the body is no such document.
[[nodiscard]] ErrorAnswer parse_error(std::string_view xml);

/// An object in a listing.
struct ListedKey {
    std::string key;  ///< complete, with the prefix of the location
    Bytes size;
    Time modified;
};
/// One page of a listing.
struct ListPage {
    std::vector<ListedKey> objects;
    std::string next;  ///< token of the next page; empty on the last one
};
/// Parses the response to ListObjectsV2. Fails with `protocol` if it is malformed.
[[nodiscard]] Result<ListPage> parse_list(std::string_view xml);

/// A multipart upload that has neither completed nor been aborted.
struct Upload {
    std::string key;  ///< complete, with the prefix of the location
    std::string id;
    Time initiated;
};
/// One page of a listing of uploads.
struct UploadPage {
    std::vector<Upload> uploads;
    std::string next_key;  ///< where the next page begins; empty on the last one
    std::string next_id;
};
/// Parses the response to ListMultipartUploads. Fails with `protocol` if it is malformed.
[[nodiscard]] Result<UploadPage> parse_uploads(std::string_view xml);

/// Returns the upload's id in the response to CreateMultipartUpload. Fails with `protocol` if there
/// is none.
[[nodiscard]] Result<std::string> parse_upload_id(std::string_view xml);
/// Returns the request of CompleteMultipartUpload: the ETags of the parts 1, 2 and so on.
[[nodiscard]] std::string completion_of(std::vector<std::string> const& etags);

/// Returns whether the response to GetBucketVersioning says that versioning is enabled, or was
/// enabled once and is now suspended. Fails with `protocol` if the response is malformed.
[[nodiscard]] Result<bool> parse_versioning(std::string_view xml);

}  // namespace curtail::s3
