// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "base/core/secret.hpp"
#include "base/core/time.hpp"

namespace curtail::s3 {

/// What identifies a user of an S3 server.
struct Credentials {
    std::string key_id;                ///< access key ID; not secret
    Secret key;                        ///< secret access key
    Secret token;                      ///< session token of temporary credentials; otherwise empty
    std::optional<Time> expiration{};  ///< empty: the credentials do not expire
};

}  // namespace curtail::s3
