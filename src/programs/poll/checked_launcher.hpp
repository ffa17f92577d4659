// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "poller/launch/launcher.hpp"
#include "run/config/run.hpp"

namespace curtail::programs {

/// Makes the launcher of a site (launch::make_launcher) that calls check_trusted_files() before
/// each submission: while a poller watches, others may have been allowed to change a file. It lists
/// and drains jobs without this check. `run` and `site` must outlive the launcher.
[[nodiscard]] std::unique_ptr<launch::Launcher> make_checked_launcher(
    config::Run const& run, config::Site const& site, std::string const& folder_id,
    std::filesystem::path const& build);

}  // namespace curtail::programs
