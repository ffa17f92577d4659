// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.hpp"

// Who can change what a program reads, runs or follows. Whoever can change such a file can act as
// the program's user. POSIX access lists count. Access lists of NFSv4 and Lustre are not seen.

namespace curtail {

/// Who may own or change a file, besides the program's user and root.
struct Trust {
    std::vector<uid_t> owners{};   ///< these users may own the file
    bool system_owners{false};     ///< accounts with a number below UID_MIN may own it, too
    std::optional<gid_t> group{};  ///< members of this group may change it
};

/// Returns the error for an opened file or folder that somebody else owns or can change; it names
/// the command that mends this. Returns nothing if only the user, root and `trust` can change it.
///
/// The user's own group has the user's name and no other member; it can change everything. It is
/// not the user's own if it is the primary group of another account. Accounts of a directory that
/// lists none are not seen.
[[nodiscard]] std::optional<Error> find_foreign_access(int fd, std::filesystem::path const& path,
                                                       Trust const& trust = {});

/// What check_folders_above() found. At most one of the two is not empty.
struct FoldersAbove {
    std::optional<Error> error{};  ///< everybody can replace the file, or somebody else a link
    std::string warning{};         ///< a group, or another user, can replace the file
};
/// Examines all folders in which the kernel looks up a part of `path`, also those on the way of
/// each symbolic link. A link of another user is an error, also if `trust.group` has that user. In
/// a folder with the sticky bit, only its owner can replace an entry of this user. A replaced file
/// shows another owner, so a folder of which a group or its owner can replace the entries is a
/// warning.
[[nodiscard]] FoldersAbove check_folders_above(std::filesystem::path const& path,
                                               Trust const& trust = {});

/// Checks `path` and the folders above it. Returns an empty text, or a warning about the folders
/// above. A missing file is no error. Fails with `permission`.
[[nodiscard]] Result<std::string> check_access(std::filesystem::path const& path,
                                               Trust const& trust = {});

/// Returns whether the process has the rights of a group. Root has those of all.
[[nodiscard]] bool is_member_of(gid_t group);
/// Returns whether an account is one of the system: its number is below UID_MIN of login.defs(5).
[[nodiscard]] bool is_system_account(uid_t user);
/// Reads names of accounts, one per line; `#` begins a comment. Returns the numbers of those that
/// exist. A missing file has none. Ignores a file that others can change.
[[nodiscard]] std::vector<uid_t> read_accounts(std::filesystem::path const& file);
/// Returns the trust in what a centre installs: accounts of the system, and those that
/// /etc/curtail/trusted-owners names.
[[nodiscard]] Trust trust_in_installed();
/// Returns the trust in colleagues whose runs the user also polls: the accounts that
/// ~/.config/curtail/trusted-owners names.
[[nodiscard]] Trust trust_in_colleagues();

}  // namespace curtail
