// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/record.hpp"

// Reads the records of format 1, which the first version of Curtail wrote
// (docs/formats-store.md#format-1).
namespace curtail::rounds::format1 {

/// Returns true if the parsed record has format 1 and its field `self` is right.
[[nodiscard]] bool is_intact(json::Object const& object);

/// Reads the stored form of a record of format 1. Sets RunSpec::format and Commit::format to
/// first_format. What format 1 does not have is empty, or has its default. Such a commit states no
/// terms, so Commit::terms is the default too: the caller must set them.
///
/// Fails like decode_run() etc. (rounds/record.hpp); with `data` if the format is not 1.
[[nodiscard]] Result<RunSpec> decode_run(std::string_view bytes);
[[nodiscard]] Result<Commit> decode_commit(std::string_view bytes, std::string const& name);
[[nodiscard]] Result<Header> decode_header(std::string_view bytes, std::string const& name);

}  // namespace curtail::rounds::format1
