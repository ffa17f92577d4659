// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/core/result.hpp"

namespace curtail {

/// Returns the name of a user. Returns an empty optional if this machine does not know the account.
/// Thread-safe.
[[nodiscard]] std::optional<std::string> find_user_name(uid_t user);
/// Returns the name of a user, or the number if there is no name. Thread-safe.
[[nodiscard]] std::string user_name(uid_t user);
/// Returns the name of the user of this process. Thread-safe.
[[nodiscard]] std::string own_user_name();
/// Returns the folder for what programs keep of this user: $XDG_STATE_HOME, or .local/state of
/// $HOME, or of the home folder that the machine's accounts name.
[[nodiscard]] std::filesystem::path state_folder();

/// Returns whether a user is a member of a group. Thread-safe.
[[nodiscard]] bool is_member(std::string const& user, gid_t group);
/// Returns whether a group is the primary group of an account other than `user`. Such an account
/// need not be in the group's list of members. Thread-safe.
[[nodiscard]] bool is_primary_group_of_others(gid_t group, uid_t user);
/// Takes the rights of `user` and of the user's groups, and gives up those of root for good. All
/// threads of the process do so. Fails with `permission` if the machine has no such account, or if
/// the process may not do this.
[[nodiscard]] Result<void> become_user(uid_t user);

}  // namespace curtail
