// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <string>

namespace curtail {

/// Returns the name of a user, or the number if there is no name. Thread-safe.
[[nodiscard]] std::string user_name(uid_t user);
/// Returns the name of the user of this process. Thread-safe.
[[nodiscard]] std::string own_user_name();

/// Returns whether a user is a member of a group. Thread-safe.
[[nodiscard]] bool is_member(std::string const& user, gid_t group);

}  // namespace curtail
