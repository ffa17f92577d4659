// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "evaluate/committed_model.hpp"

/// The contents of a checkpoint, for people and as JSON.
namespace curtail::evaluate {

/// Attributes and tensors of a tensor file (weights, delta, snapshot, shard), with type and shape.
/// float32 tensors also get their root mean square, their greatest absolute value and the number of
/// values that are not finite. Fails with `data` if the file is damaged.
[[nodiscard]] Result<json::Object> describe_file(std::filesystem::path const& file);
/// A committed model: the commit, the stored parts of its weights, and its tensors as above.
[[nodiscard]] json::Object describe_commit(CommittedModel const& model);
/// Either description as lines of text.
[[nodiscard]] std::string contents_text(json::Object const& description);

}  // namespace curtail::evaluate
