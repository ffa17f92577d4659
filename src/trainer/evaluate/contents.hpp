// SPDX-License-Identifier: Apache-2.0
#pragma once

// Descriptions of a stored model or tensor file, as JSON and as text.

#include <filesystem>
#include <string>

#include "trainer/evaluate/committed_model.hpp"

namespace curtail::evaluate {

/// Returns the attributes of a tensor file (weights, delta, snapshot or shard), and the name, type
/// and shape of each tensor. For each float32 tensor, also returns the number of values that are
/// not finite, and the root mean square and the greatest absolute value of the finite values. Fails
/// with `no_input` if the file is missing and with `data` if it is damaged.
[[nodiscard]] Result<json::Object> describe_tensors(std::filesystem::path const& file);
/// Returns the main fields of the commit, the stored parts of its model, and the tensors of the
/// model as in describe_tensors().
[[nodiscard]] json::Object describe_commit(CommittedModel const& model);
/// Returns a description from describe_tensors() or describe_commit() as lines of text.
[[nodiscard]] std::string contents_text(json::Object const& description);

}  // namespace curtail::evaluate
