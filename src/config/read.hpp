// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "core/json.hpp"
#include "core/units.hpp"

/// What the readers of this folder share.
namespace curtail::config {

/// A configuration file; a damaged one has code `config`.
[[nodiscard]] Result<json::Value> read_file(std::filesystem::path const& file);
/// `path` as stated in `file`: absolute, or relative to the file's own folder.
[[nodiscard]] std::filesystem::path resolve(std::filesystem::path const& file,
                                            std::string const& path);
/// The path that `key` states, resolved; an empty one, which would be the folder of `file`, is an
/// error.
[[nodiscard]] std::filesystem::path read_path(json::ObjectReader& r,
                                              std::filesystem::path const& file,
                                              std::string const& key,
                                              std::optional<std::string> fallback = {});
/// `key`, from `least` to `most`; outside it is an error and the answer is the nearer of the two.
[[nodiscard]] std::int64_t read_integer(json::ObjectReader& r, std::string const& key,
                                        std::int64_t fallback, std::int64_t least,
                                        std::int64_t most = std::int64_t{1} << 53);
[[nodiscard]] double read_number(json::ObjectReader& r, std::string const& key, double fallback,
                                 double least, double most);
/// `key`, in seconds (fractions allowed), positive.
[[nodiscard]] Millis read_seconds(json::ObjectReader& r, std::string const& key, Millis fallback);

}  // namespace curtail::config
