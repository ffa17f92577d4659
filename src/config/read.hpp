#pragma once
#include <filesystem>

#include "core/json.hpp"
#include "core/units.hpp"

/// What the readers of this folder share.
namespace curtail::config {

/// A configuration file; a damaged one has code `config`.
[[nodiscard]] Result<json::Value> read_file(std::filesystem::path const& file);
/// `path` as stated in `file`: absolute, or relative to the file's own folder.
[[nodiscard]] std::filesystem::path resolve(std::filesystem::path const& file, std::string const& path);
/// `key`, in seconds (fractions allowed), positive.
[[nodiscard]] Millis read_seconds(json::ObjectReader& r, std::string const& key, Millis fallback);

}  // namespace curtail::config
