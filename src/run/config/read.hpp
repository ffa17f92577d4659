// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "base/core/units.hpp"
#include "protocol/records/settings.hpp"

// Helpers for the functions of src/run/config that read run, site and model files.

namespace curtail::config {

/// The message for a name that is_plain_name() rejects.
inline constexpr char const* plain_name_rule =
    "must be 1 to 32 characters long, only letters, digits, '_' and '-', and start with a letter "
    "or digit";

/// Makes `path` absolute. `path` is a setting in the configuration file `file`. A relative `path`
/// is relative to the folder of `file`.
[[nodiscard]] std::filesystem::path resolve(std::filesystem::path const& file,
                                            std::string const& path);

/// A file with settings, as a program read it.
struct SettingsFile {
    std::filesystem::path path;
    std::string text;                ///< its content, byte for byte
    std::optional<Error> foreign{};  ///< set if others own the file, or can change it
};
/// Reads a file with settings, and adds it to `files`. Fails with `config` if it is no JSON, and
/// with `no_input` if it is missing.
[[nodiscard]] Result<json::Value> read_settings(std::filesystem::path const& file,
                                                std::vector<SettingsFile>& files);

// Each of the functions below uses `r` to read the value of one key. If there is an error, the
// function records it in `r`. It then still returns a value, so that the caller can read on. A
// missing key has the value `fallback`. If `fallback` is an empty optional, the key is required.

/// Reads the path at `key` and resolves it. An empty path is an error, because it would resolve to
/// the folder of `file`.
[[nodiscard]] std::filesystem::path read_path(json::ObjectReader& r,
                                              std::filesystem::path const& file,
                                              std::string const& key,
                                              std::optional<std::string> fallback = {});
/// Reads an integer from `min` to `max`. If the value is not in this range, records an error and
/// returns the nearest bound.
[[nodiscard]] std::int64_t read_integer(json::ObjectReader& r, std::string const& key,
                                        std::optional<std::int64_t> fallback, std::int64_t min,
                                        std::int64_t max = protocol::max_integer);
/// Reads a number from `min` to `max`. If the value is not in this range, records an error and
/// returns the nearest bound.
[[nodiscard]] double read_number(json::ObjectReader& r, std::string const& key,
                                 std::optional<double> fallback, double min, double max);
/// Reads a duration from 0.001 to 1e9 seconds, and rounds it to milliseconds. Returns `fallback` if
/// `r` has recorded an error, even an earlier one.
[[nodiscard]] Millis read_seconds(json::ObjectReader& r, std::string const& key, Millis fallback);

}  // namespace curtail::config
