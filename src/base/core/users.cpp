// SPDX-License-Identifier: Apache-2.0
#include "base/core/users.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace curtail {

std::string user_name(uid_t user)
{
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16'384> buffer{};
    bool const known =
        getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
    return known ? entry.pw_name : std::to_string(user);
}

std::string own_user_name() { return user_name(geteuid()); }

}  // namespace curtail
