// SPDX-License-Identifier: Apache-2.0
#pragma once

// Descriptions of a stored model or tensor file, as JSON and as text.

#include <filesystem>
#include <string>

#include "evaluate/committed_model.hpp"

namespace curtail::evaluate {

/// Returns the attributes of a tensor file (weights, delta, snapshot or shard), and the name, type
/// and shape of each tensor. For float32 tensors it adds the number of values that are not finite.
/// It also adds the root mean square and the greatest absolute value of the finite ones. Fails with
/// `no_input` if the file is missing and with `data` if it is damaged.
[[nodiscard]] Result<json::Object> describe_file(std::filesystem::path const& file);
/// Returns the commit, the stored parts of its weights, and its tensors as in describe_file().
[[nodiscard]] json::Object describe_commit(CommittedModel const& model);
/// Returns a description from describe_file() or describe_commit() as lines of text.
[[nodiscard]] std::string contents_text(json::Object const& description);

}  // namespace curtail::evaluate
