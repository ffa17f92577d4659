// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/result.hpp"
#include "storage/s3/credentials.hpp"

namespace curtail::s3 {

/// Reads credentials from JSON with the keys AccessKeyId, SecretAccessKey, Expiration (optional)
/// and `token_key` (optional). Other keys are ignored. Overwrites `text`. Fails with `data` if the
/// text is no such JSON. The message names `source` and never contains the text.
[[nodiscard]] Result<Credentials> credentials_from_json(std::string& text,
                                                        std::string const& token_key,
                                                        std::string const& source);

}  // namespace curtail::s3
