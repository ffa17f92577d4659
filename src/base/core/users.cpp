// SPDX-License-Identifier: Apache-2.0
#include "base/core/users.hpp"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace curtail {
namespace {

// The entry of passwd(5) for a user; all empty if this machine has no such account.
struct PasswdEntry {
    explicit PasswdEntry(uid_t user)
    {
        passwd entry{};
        passwd* found = nullptr;
        std::array<char, 16'384> buffer{};
        if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
            return;
        name = entry.pw_name;
        group = entry.pw_gid;
        home = entry.pw_dir;
    }
    std::string name{};
    gid_t group{};
    std::string home{};
};

}  // namespace

std::optional<std::string> find_user_name(uid_t user)
{
    PasswdEntry entry(user);
    if (entry.name.empty()) return std::nullopt;
    return std::move(entry.name);
}

std::string user_name(uid_t user) { return find_user_name(user).value_or(std::to_string(user)); }

std::filesystem::path state_folder()
{
    for (auto const& [variable, below] :
         {std::pair{"XDG_STATE_HOME", "."}, std::pair{"HOME", ".local/state"}}) {
        char const* const value = std::getenv(variable);
        if (value != nullptr && *value == '/')
            return (std::filesystem::path(value) / below).lexically_normal();
    }
    return std::filesystem::path("/") / PasswdEntry(geteuid()).home / ".local/state";
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

Result<void> become_user(uid_t user)
{
    auto const what = "cannot act as user " + user_name(user);
    PasswdEntry const account(user);
    if (account.name.empty())
        return fail(ExitCode::permission, what, "this machine has no such account",
                    "use a machine that knows the account");
    bool const done = initgroups(account.name.c_str(), account.group) == 0 &&
                      setresgid(account.group, account.group, account.group) == 0 &&
                      setresuid(user, user, user) == 0;
    if (!done) return fail(ExitCode::permission, what, errno_text(errno));
    return {};
}

std::string own_user_name() { return user_name(geteuid()); }

}  // namespace curtail
