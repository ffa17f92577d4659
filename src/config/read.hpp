// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "core/json.hpp"
#include "core/units.hpp"

/// Helpers of the readers in this folder.
namespace curtail::config {

inline constexpr char const* plain_name_rule =
    "must have 1 to 32 letters, digits, '_' or '-', the first a letter or digit";

/// Parses a configuration file. Code `config` if it is damaged, `no_input` if it is missing.
[[nodiscard]] Result<json::Value> read_file(std::filesystem::path const& file);
/// `path` from `file`: absolute, or relative to the folder of `file`.
[[nodiscard]] std::filesystem::path resolve(std::filesystem::path const& file,
                                            std::string const& path);
/// The resolved path of `key`. An empty path is an error, because it would resolve to the folder of
/// `file`.
[[nodiscard]] std::filesystem::path read_path(json::ObjectReader& r,
                                              std::filesystem::path const& file,
                                              std::string const& key,
                                              std::optional<std::string> fallback = {});
/// The value of `key`, from `min` to `max`; without `fallback`, the key is required. A value out of
/// range is an error and is clamped.
[[nodiscard]] std::int64_t read_integer(json::ObjectReader& r, std::string const& key,
                                        std::optional<std::int64_t> fallback, std::int64_t min,
                                        std::int64_t max = std::int64_t{1} << 53);
[[nodiscard]] double read_number(json::ObjectReader& r, std::string const& key, double fallback,
                                 double min, double max);
/// A duration in seconds (fractions allowed), from 0.001 to 1e9.
[[nodiscard]] Millis read_seconds(json::ObjectReader& r, std::string const& key, Millis fallback);

}  // namespace curtail::config
