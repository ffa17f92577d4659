// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "core/files.hpp"
#include "core/json.hpp"

namespace curtail::account {

/// Reads and parses the JSON file `path`. Returns an empty optional if the file does not exist.
[[nodiscard]] inline Result<std::optional<json::Value>> parse_if_exists(
    std::filesystem::path const& path)
{
    auto const content =
        read_file_if_exists(path, static_cast<std::int64_t>(json::document_limits.bytes));
    if (!content) return tl::unexpected(content.error());
    if (!*content) return std::optional<json::Value>{};
    auto value = json::parse(**content, path.string());
    if (!value) return tl::unexpected(value.error());
    return std::optional(std::move(*value));
}

}  // namespace curtail::account
