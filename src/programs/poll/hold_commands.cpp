// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/hold_commands.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "base/core/users.hpp"
#include "run/config/trusted.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/issue.hpp"

namespace curtail::programs {
namespace {

constexpr char const* use_hold =
    "hold the sites with a file in /etc/curtail/holds.d (docs/operators.md)";

Result<permission::Hold> decide(config::Run const& run, SiteId const& site,
                                HoldCommand const& command)
{
    auto const folder = run.site_folder(site);
    auto const now = SystemClock{}.now();
    // A damaged file is replaced; the time gives a higher serial than any earlier decision has.
    auto const before = permission::read_hold(folder, run.run, site).value_or(std::nullopt);
    bool const has_serial = before && permission::is_plausible(before->serial, now);
    auto const serial = std::max(has_serial ? before->serial + 1 : 0, to_unix_ms(now));
    permission::Hold const hold{run.run,        site, serial,    command.held,
                                command.reason, now,  command.by};
    auto const written = permission::write_hold(folder, hold);
    if (!written)
        return tl::unexpected(written.error().with_context(
            (command.held ? "cannot pause site " : "cannot resume site ") + site.value));
    return hold;
}

// Stores the decision, reports it, and ends the permission of a site that is now paused.
Result<void> carry_out(config::Run const& run, SiteId const& site, HoldCommand const& command,
                       Console const& console)
{
    auto const hold = decide(run, site, command);
    if (hold)
        console.print(site.value +
                      (hold->held ? ": paused: " + hold->reason : std::string(": resumed")) + "\n");
    if (!command.held) return hold ? Result<void>{} : tl::unexpected(hold.error());
    // The poller would end the permission too, but only at its next poll. A pause that cannot be
    // stored ends it all the same, at least until the next poll.
    auto const folder = run.site_folder(site);
    auto const present = permission::read_permission(folder, run.run, site).value_or(std::nullopt);
    auto const next = permission::renew(
        present, run.run, site, {false, {}, "paused by " + command.by + ": " + command.reason}, {},
        hold ? hold->since : SystemClock{}.now());
    auto const ended = next ? permission::write_permission(folder, *next) : Result<void>{};
    if (!hold)
        return tl::unexpected(
            ended ? hold.error().with_context("the permission of site " + site.value +
                                              " was ended, but a poller may renew it")
                  : hold.error());
    if (ended) return {};
    return tl::unexpected(ended.error().with_context(
        "site " + site.value +
        " is paused, but its permission still stands until the poller ends it"));
}

// Checks that the way to a run file belongs to the file's owner: another user's link or folder
// would let root act on a run that this user names.
Result<void> check_way(std::filesystem::path const& run_file, uid_t owner)
{
    auto const refuse = [&](Error const& error) -> Result<void> {
        return fail(ExitCode::permission, "cannot act as root on " + run_file.string(),
                    error.what + ": " + error.why,
                    "it belongs to " + user_name(owner) +
                        ": name the file itself, in a folder of this user; or " + use_hold);
    };
    auto above = check_folders_above(run_file, {.owners = {owner}});
    if (above.error) return refuse(*above.error);
    std::error_code error;
    for (auto folder = std::filesystem::absolute(run_file, error).parent_path();
         folder.has_relative_path(); folder = folder.parent_path()) {
        struct stat status {};
        if (stat(folder.c_str(), &status) != 0 || status.st_uid == owner ||
            is_system_account(status.st_uid))
            continue;
        return refuse({ExitCode::permission, folder.string(),
                       "it belongs to " + user_name(status.st_uid), ""});
    }
    return {};
}

}  // namespace

Result<Actor> act_as_owner(std::filesystem::path const& run_file)
{
    if (geteuid() != 0) return Actor::user;
    // A descriptor of O_PATH reads nothing: the file may be a pipe, a device, or a secret.
    Fd const fd(open(run_file.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) {
        // A file server may take root for another user.
        int const error = errno;
        return fail(ExitCode::no_input, "cannot read " + run_file.string(), errno_text(error),
                    error == EACCES ? use_hold : "");
    }
    if (!S_ISREG(status.st_mode))
        return fail(ExitCode::no_input, "cannot read " + run_file.string(), "it is no file",
                    "name a run file");
    if (auto checked = check_way(run_file, status.st_uid); !checked)
        return tl::unexpected(checked.error());
    if (status.st_uid == 0) return Actor::user;
    if (auto done = become_user(status.st_uid); !done) {
        done.error().remedy = use_hold;
        return tl::unexpected(done.error());
    }
    return Actor::root_for_owner;
}

Result<void> check_folders_of_root(config::Run const& run,
                                   std::vector<config::Site const*> const& sites)
{
    if (geteuid() != 0) return {};
    // The run file may be a link of a user to a file of root, and its folder be the user's.
    std::vector<std::filesystem::path> files{run.file};
    for (auto const* site : sites)
        files.push_back(permission::hold_file(run.site_folder(site->site)));
    for (auto const& file : files) {
        auto above = check_folders_above(file, config::trust_in_folders(run));
        if (above.error) return tl::unexpected(std::move(*above.error));
        if (!above.warning.empty())
            return fail(ExitCode::permission, "cannot act as root on " + run.file.string(),
                        std::move(above.warning), "act as that user; or " + std::string(use_hold));
    }
    return {};
}

Result<void> store_decision(config::Run const& run, std::vector<config::Site const*> const& sites,
                            HoldCommand const& command, Console const& console)
{
    Result<void> all;
    for (auto const* site : sites) {
        auto done = carry_out(run, site->site, command, console);
        if (!done && all) all = std::move(done);
    }
    return all;
}

}  // namespace curtail::programs
