// SPDX-License-Identifier: Apache-2.0
#include "base/core/trust.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "base/core/users.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;

constexpr char const* access_list = "system.posix_acl_access";
constexpr char const* default_access_list = "system.posix_acl_default";
constexpr char const* trusted_owners = "/etc/curtail/trusted-owners";

std::string group_name(gid_t group)
{
    auto const* const entry = getgrgid(group);
    return entry != nullptr ? entry->gr_name : std::to_string(group);
}

// As sshd of Debian decides (StrictModes): a group of the user's name without another member.
bool is_own_group(gid_t group)
{
    auto const user = own_user_name();
    auto const* const entry = getgrgid(group);
    if (entry == nullptr || user != entry->gr_name) return false;
    for (char const* const* member = entry->gr_mem; *member != nullptr; ++member)
        if (user != *member) return false;
    return !is_primary_group_of_others(group, geteuid());
}

// The kernel's form of a POSIX access list: a version, then these entries.
struct AclEntry {
    std::uint16_t tag;
    std::uint16_t rights;
    std::uint32_t id;
};
constexpr std::uint32_t acl_version = 2;
constexpr std::uint16_t acl_user = 0x02, acl_group_owner = 0x04, acl_group = 0x08, acl_mask = 0x10,
                        acl_other = 0x20;
constexpr std::uint16_t acl_write = 0x02;

std::vector<AclEntry> read_acl(std::string const& file, char const* kind)
{
    std::array<char, 65'536> bytes{};
    ssize_t const size = getxattr(file.c_str(), kind, bytes.data(), bytes.size());
    std::uint32_t version = 0;
    if (size < ssize_t{sizeof version}) return {};
    std::memcpy(&version, bytes.data(), sizeof version);
    if (version != acl_version) return {};
    std::vector<AclEntry> entries((static_cast<std::size_t>(size) - sizeof version) /
                                  sizeof(AclEntry));
    std::memcpy(entries.data(), bytes.data() + sizeof version, entries.size() * sizeof(AclEntry));
    return entries;
}

// Whoever may write: nobody else, members of a group (or users of an access list), or everybody.
struct Writers {
    bool everybody{false};
    std::string some{};  // who, for messages; empty: nobody
};

bool is_accepted(gid_t group, Trust const& trust)
{
    return trust.group == group || is_own_group(group);
}

// Names the user or group of an entry, unless it may write anyway.
std::string stranger_of(AclEntry const& entry, gid_t owning_group, Trust const& trust)
{
    if (entry.tag == acl_user)
        return entry.id == geteuid() || entry.id == 0 ? "" : "user " + user_name(entry.id);
    if (entry.tag != acl_group_owner && entry.tag != acl_group) return "";
    auto const group = entry.tag == acl_group ? gid_t{entry.id} : owning_group;
    return is_accepted(group, trust) ? "" : "group " + group_name(group);
}

Writers writers_of_acl(std::vector<AclEntry> const& acl, gid_t owning_group, Trust const& trust)
{
    auto const mask = std::ranges::find(acl, acl_mask, &AclEntry::tag);
    bool const is_masked = mask != acl.end() && (mask->rights & acl_write) == 0;
    Writers writers;
    for (auto const& entry : acl) {
        if ((entry.rights & acl_write) == 0) continue;
        if (entry.tag == acl_other) writers.everybody = true;
        else if (auto who = stranger_of(entry, owning_group, trust); !is_masked && !who.empty())
            writers.some = std::move(who);
    }
    return writers;
}

Writers writers_of(std::string const& file, struct stat const& status, Trust const& trust)
{
    if (auto const acl = read_acl(file, access_list); !acl.empty())
        return writers_of_acl(acl, status.st_gid, trust);
    Writers writers;
    writers.everybody = (status.st_mode & S_IWOTH) != 0;
    if ((status.st_mode & S_IWGRP) != 0 && !is_accepted(status.st_gid, trust))
        writers.some = "group " + group_name(status.st_gid);
    return writers;
}

bool is_owner_accepted(struct stat const& status, Trust const& trust)
{
    uid_t const owner = status.st_uid;
    // Below a set-gid folder of the group, files of strangers belong to the group, too.
    auto const is_of_member = [&] {
        return trust.group == status.st_gid && is_member(user_name(owner), *trust.group);
    };
    return owner == geteuid() || owner == 0 ||
           std::ranges::find(trust.owners, owner) != trust.owners.end() ||
           (trust.system_owners && is_system_account(owner)) || is_of_member();
}

// The path as a word of a command that a person copies into a shell.
std::string shell_word(fs::path const& path)
{
    auto const text = path.string();
    bool const is_plain = std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_./-").find(c) != std::string_view::npos;
    });
    return is_plain ? text : shell_quoted(text);
}

Error refuse(fs::path const& path, std::string why, std::string remedy)
{
    return {ExitCode::permission, "cannot trust " + path.string(), std::move(why),
            std::move(remedy)};
}

Error foreign_owner(fs::path const& path, uid_t owner, Trust const& trust)
{
    auto const name = user_name(owner);
    return refuse(
        path, "it belongs to user " + name + ", who could change it",
        trust.system_owners
            ? "name another one; or an operator adds " + name + " to " + trusted_owners
            : "chown " + own_user_name() + " " + shell_word(path) + ", or name another one");
}

// Whether the user can, and should, close the folder to others.
bool is_own_open_folder(fs::path const& folder, Trust const& trust)
{
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid() || (status.st_mode & S_ISVTX) != 0)
        return false;
    auto const writers = writers_of(folder.string(), status, trust);
    return writers.everybody || !writers.some.empty();
}

// A umask of 002 opens a whole tree: one command closes it.
std::string close_command(fs::path const& path, bool is_folder, Trust const& trust)
{
    auto top = path;
    while (is_own_open_folder(top.parent_path(), trust)) top = top.parent_path();
    return (is_folder || top != path ? "chmod -R go-w " : "chmod go-w ") + shell_word(top);
}

}  // namespace

std::optional<Error> find_foreign_access(int fd, fs::path const& path, Trust const& trust)
{
    struct stat status {};
    if (fstat(fd, &status) != 0)
        return Error{ExitCode::io, "cannot use " + path.string(), errno_text(errno), ""};
    if (!is_owner_accepted(status, trust)) return foreign_owner(path, status.st_uid, trust);
    // A descriptor of O_PATH has attributes under this name only.
    auto const file = "/proc/self/fd/" + std::to_string(fd);
    auto const writers = writers_of(file, status, trust);
    if (writers.everybody || !writers.some.empty())
        return refuse(path,
                      fmt::format("its mode is {:04o}: {} can change it", status.st_mode & 07777U,
                                  writers.everybody ? "everybody" : writers.some),
                      (getxattr(file.c_str(), access_list, nullptr, 0) > 0
                           ? "setfacl -b " + shell_word(path) + " && "
                           : "") +
                          close_command(path, S_ISDIR(status.st_mode), trust));
    if (!S_ISDIR(status.st_mode)) return std::nullopt;
    auto const inherited =
        writers_of_acl(read_acl(file, default_access_list), status.st_gid, trust);
    if (!inherited.everybody && inherited.some.empty()) return std::nullopt;
    return refuse(path,
                  "its default access list lets " +
                      (inherited.everybody ? "everybody" : inherited.some) +
                      " change new files in it",
                  "setfacl -k " + shell_word(path));
}

namespace {

// How the kernel finds a file.
struct Lookups {
    std::set<fs::path> folders;  // in which it looks up a name; without links
    std::set<fs::path> links;    // which it follows
};

Lookups lookups_of(fs::path const& path)
{
    constexpr std::size_t most_links = 40;  // as Linux
    std::error_code error;
    auto const absolute = fs::absolute(path, error).relative_path();
    std::deque<fs::path> names(absolute.begin(), absolute.end());
    Lookups found;
    for (fs::path at = "/"; !names.empty() && found.links.size() < most_links;) {
        auto const name = std::move(names.front());
        names.pop_front();
        if (name.empty() || name == ".") continue;
        if (name == "..") {
            at = at.parent_path();
            continue;
        }
        found.folders.insert(at);
        auto const entry = at / name;
        auto const target = fs::read_symlink(entry, error);
        if (error) {
            at = entry;
            continue;
        }
        found.links.insert(entry);
        if (target.is_absolute()) at = "/";
        auto const rest = target.relative_path();
        names.insert(names.begin(), rest.begin(), rest.end());
    }
    return found;
}

void check_link(fs::path const& link, Trust const& trust, FoldersAbove& found)
{
    struct stat status {};
    if (lstat(link.c_str(), &status) == 0 && !is_owner_accepted(status, trust))
        found.error = refuse(link,
                             "it is a symbolic link of user " + user_name(status.st_uid) +
                                 ", who could lead it elsewhere",
                             "name what it leads to");
}

// With the sticky bit, only its owner can replace what is in a folder.
Writers replacers_in(fs::path const& folder, struct stat const& status, Trust const& trust)
{
    auto writers =
        (status.st_mode & S_ISVTX) != 0 ? Writers{} : writers_of(folder.string(), status, trust);
    if (!is_owner_accepted(status, trust)) writers.some = "user " + user_name(status.st_uid);
    return writers;
}

void check_folder_above(fs::path const& folder, Trust const& trust, FoldersAbove& found)
{
    struct stat status {};
    if (stat(folder.c_str(), &status) != 0) return;
    auto const writers = replacers_in(folder, status, trust);
    if (writers.everybody)
        found.error = refuse(
            folder,
            fmt::format("its mode is {:04o}: everybody can replace what is in it",
                        status.st_mode & 07777U),
            "chmod o-w " + shell_word(folder) + ", or move the files into a folder of your own");
    if (!writers.some.empty() && found.warning.empty())
        found.warning = writers.some + " can replace what is in " + folder.string();
}

}  // namespace

FoldersAbove check_folders_above(fs::path const& path, Trust const& trust)
{
    auto const lookups = lookups_of(path);
    Trust const installed{trust.owners, true, trust.group};
    FoldersAbove found;
    for (auto const& folder : lookups.folders)
        if (!found.error) check_folder_above(folder, installed, found);
    // Where a member's link leads, this user may have rights that the member lacks.
    Trust const of_links{trust.owners, true, std::nullopt};
    for (auto const& link : lookups.links)
        if (!found.error) check_link(link, of_links, found);
    if (found.error) found.warning.clear();
    return found;
}

Result<std::string> check_access(fs::path const& path, Trust const& trust)
{
    Fd const fd(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!fd && errno != ENOENT && errno != ENOTDIR)
        return fail(ExitCode::permission, "cannot use " + path.string(), errno_text(errno));
    if (fd)
        if (auto found = find_foreign_access(fd.get(), path, trust))
            return tl::unexpected(std::move(*found));
    auto above = check_folders_above(path, trust);
    if (above.error) return tl::unexpected(std::move(*above.error));
    return std::move(above.warning);
}

bool is_member_of(gid_t group)
{
    std::vector<gid_t> groups(65'536);
    int const count = getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<std::size_t>(std::max(count, 0)));
    return geteuid() == 0 || getegid() == group || std::ranges::find(groups, group) != groups.end();
}

bool is_system_account(uid_t user)
{
    uid_t limit = 1000;  // the default of login.defs(5)
    auto const settings = read_file("/etc/login.defs", 1 << 20).value_or("");
    for (auto const line : split(settings, '\n'))
        if (auto const text = trim(line); text.starts_with("UID_MIN"))
            if (auto const number = parse_number<uid_t>(trim(text.substr(7)))) limit = *number;
    return user < limit;
}

std::vector<uid_t> read_accounts(fs::path const& file)
{
    auto const opened = open_to_read(file);
    if (!opened || !*opened || find_foreign_access((*opened)->get(), file)) return {};
    auto const text = read_descriptor((*opened)->get(), file.string(), 1 << 20).value_or("");
    std::vector<uid_t> accounts;
    for (auto const line : split(text, '\n')) {
        std::string const name(trim(line.substr(0, line.find('#'))));
        auto const* const entry = name.empty() ? nullptr : getpwnam(name.c_str());
        if (entry != nullptr) accounts.push_back(entry->pw_uid);
    }
    return accounts;
}

Trust trust_in_installed() { return {read_accounts(trusted_owners), true, std::nullopt}; }

Trust trust_in_colleagues()
{
    auto const* const user = getpwuid(geteuid());
    if (user == nullptr) return {};
    return {read_accounts(fs::path(user->pw_dir) / ".config/curtail/trusted-owners"), false, {}};
}

}  // namespace curtail
