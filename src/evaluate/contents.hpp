// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "evaluate/committed_model.hpp"

/// What a checkpoint holds, for people and as JSON.
namespace curtail::evaluate {

/// Attributes and tensors of a tensor file (weights, delta, snapshot, shard): type, shape, and of
/// float32 ones root mean square, greatest absolute value and how many values are not finite. Code
/// `data` if the file is damaged.
[[nodiscard]] Result<json::Object> describe_file(std::filesystem::path const& file);
/// A committed model: the commit, where its weights are stored, and its tensors as above.
[[nodiscard]] json::Object describe_commit(CommittedModel const& model);
/// Either description as lines of text.
[[nodiscard]] std::string contents_text(json::Object const& description);

}  // namespace curtail::evaluate
