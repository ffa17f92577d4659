// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "run/config/read.hpp"
#include "storage/store/address.hpp"

namespace curtail::config {

// These functions record errors in `r`, like those of run/config/read.hpp. `file` is the file that
// `r` reads.

/// Reads the keys `store` and `s3` of a run file.
[[nodiscard]] store::Address read_store(json::ObjectReader& r, std::filesystem::path const& file);
/// Reads the key `s3` of a site file. All its keys are optional.
[[nodiscard]] store::S3Access read_s3_access(json::ObjectReader& r,
                                             std::filesystem::path const& file);

}  // namespace curtail::config
