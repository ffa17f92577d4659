// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "core/files.hpp"
#include "core/json.hpp"

namespace curtail::account {

/// The content of a JSON file; empty if it does not exist (yet).
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
