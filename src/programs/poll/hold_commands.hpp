// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <vector>

#include "programs/poll/options.hpp"
#include "run/config/run.hpp"

namespace curtail::programs {

/// Who carries out a decision.
enum class Actor {
    user,            ///< whoever started the program
    root_for_owner,  ///< root started it, and it now has the rights of the run file's owner alone
};
/// If the user is root, takes the rights of the owner of the run file for good (become_user()): the
/// owner's links could lead root anywhere. Nothing but the run file is opened before. A run of root
/// itself changes nothing.
///
/// Fails with `no_input` if root cannot read the run file, and with `permission` if root cannot
/// take these rights.
[[nodiscard]] Result<Actor> act_as_owner(std::filesystem::path const& run_file);
/// Checks for root that only root can change where the folders of `sites` are. Does nothing for
/// another user. Fails with `permission`.
[[nodiscard]] Result<void> check_folders_of_root(config::Run const& run,
                                                 std::vector<config::Site const*> const& sites);

/// Stores the decision of a person about each of `sites` (run/permission/hold.hpp). A pause also
/// ends the permissions, so that jobs stop even if no poller runs. Prints one line per site.
///
/// Stores the decision at as many sites as possible. Then fails with the first error.
[[nodiscard]] Result<void> store_decision(config::Run const& run,
                                          std::vector<config::Site const*> const& sites,
                                          HoldCommand const& command, Console const& console);

}  // namespace curtail::programs
