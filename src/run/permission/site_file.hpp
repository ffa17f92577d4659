// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "base/core/result.hpp"

// The files of a site that poller, trainers and people exchange.
namespace curtail::permission {

/// Replaces a file of a site atomically. Creates the site's folder if it is missing.
[[nodiscard]] Result<void> write_site_file(std::filesystem::path const& file,
                                           std::string const& content);

/// Sets space aside for the next content of `file`, as another file in the same folder. Does
/// nothing if there is such space already, or if the disk is full.
void reserve_space(std::filesystem::path const& file);

/// As write_site_file(). If that fails, because the disk is full or the quota is used up, the
/// content takes the reserved space, and replaces the file atomically all the same. Without such
/// space, overwrites the file in place: a reader may then see a mixture of both for a moment.
[[nodiscard]] Result<void> write_site_file_on_full_disk(std::filesystem::path const& file,
                                                        std::string const& content);

}  // namespace curtail::permission
