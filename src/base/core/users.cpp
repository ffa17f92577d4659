// SPDX-License-Identifier: Apache-2.0
#include "base/core/users.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

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

bool is_member(std::string const& user, gid_t group)
{
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16'384> buffer{};
    int const error = getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (error != 0 || found == nullptr) return false;
    std::vector<gid_t> groups(65'536);
    auto count = static_cast<int>(groups.size());
    if (getgrouplist(user.c_str(), entry.pw_gid, groups.data(), &count) < 0) return false;
    groups.resize(static_cast<std::size_t>(count));
    return std::ranges::find(groups, group) != groups.end();
}

bool is_primary_group_of_others(gid_t group, uid_t user)
{
    // The process has a single place in the list of accounts.
    static std::mutex mutex;
    std::lock_guard const lock(mutex);
    bool found = false;
    setpwent();
    while (auto const* const entry = found ? nullptr : getpwent())
        found = entry->pw_gid == group && entry->pw_uid != user;
    endpwent();
    return found;
}

std::string own_user_name() { return user_name(geteuid()); }

}  // namespace curtail
