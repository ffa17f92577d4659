// SPDX-License-Identifier: Apache-2.0
#include "run/config/trusted.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/core/files.hpp"
#include "base/core/new_files.hpp"
#include "base/core/private_file.hpp"

namespace curtail::config {
namespace {

namespace fs = std::filesystem;

// Folders that Curtail makes, and in which it looks up names.
std::vector<fs::path> folders_of(Run const& run)
{
    std::vector<fs::path> folders{run.folder, run.poller_folder(), run.poller_folder() / "sites",
                                  run.folder / "sites"};
    for (auto const& site : run.sites) {
        folders.push_back(run.site_folder(site.site));
        folders.push_back(run.poller_folder(site.site));
    }
    if (!run.store.is_s3()) folders.push_back(run.store.folder());
    return folders;
}

// In the folders of a shared run, other members can replace folders and files by links.
Result<void> check_links(Run const& run)
{
    for (auto const& folder : folders_of(run)) {
        std::error_code error;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
             entry.increment(error)) {
            if (!entry->is_symlink(error)) continue;
            auto above = check_folders_above(entry->path());
            if (!above.error) continue;
            above.error->remedy = "have the link removed, by its owner or by root";
            return tl::unexpected(std::move(*above.error));
        }
    }
    return {};
}

// Members of the group create files in such a folder; with the sticky bit, they replace only their
// own.
constexpr mode_t open_to_group = 02770;
constexpr mode_t sticky = 01000;

// Opens a folder. Follows a link only if it is the user's own: nobody puts one there meanwhile.
Fd open_folder(fs::path const& folder)
{
    struct stat status {};
    bool const is_link = lstat(folder.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
    return Fd(
        open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW)));
}

Result<void> make_shared_folder(fs::path const& folder, gid_t group, mode_t mode)
{
    auto const failed = [&](int error) {
        return fail(creation_code(error), "cannot create folder " + folder.string(),
                    errno_text(error));
    };
    // What follows must not happen to a folder to which somebody else's link leads.
    if (auto checked = curtail::check_access(folder, {.group = group}); !checked)
        return tl::unexpected(checked.error());
    if (auto made = make_folder(folder.parent_path()); !made) return made;
    if (int const error = create_folder(folder, 0700); error != 0 && error != EEXIST)
        return failed(error);
    auto const fd = open_folder(folder);
    struct stat status {};
    if (!fd || fstat(fd.get(), &status) != 0) return failed(errno);
    // A folder from before the run was shared is shared from now on.
    bool const is_shared = status.st_gid == group && (status.st_mode & mode) == mode;
    if (is_shared || status.st_uid != geteuid()) return {};
    constexpr auto no_change = static_cast<uid_t>(-1);
    bool const ready = fchown(fd.get(), no_change, group) == 0 && fchmod(fd.get(), mode) == 0;
    return ready ? Result<void>{} : failed(errno);
}

}  // namespace

Trust trust_in_folders(Run const& run) { return {.group = run.shared_group}; }

Result<std::string> check_access(Run const& run)
{
    std::string warning;
    for (auto const& file : run.files) {
        if (file.foreign) return tl::unexpected(*file.foreign);
        auto above = check_folders_above(file.path);
        if (above.error) return tl::unexpected(std::move(*above.error));
        if (warning.empty()) warning = std::move(above.warning);
    }
    for (auto const& folder : folders_of(run)) {
        auto checked = curtail::check_access(folder, trust_in_folders(run));
        if (!checked) return checked;
        if (warning.empty()) warning = std::move(*checked);
    }
    if (run.shared_group)
        if (auto checked = check_links(run); !checked) return tl::unexpected(checked.error());
    return warning;
}

Result<Run> read_trusted_run(fs::path const& file)
{
    auto run = read_run(file);
    if (!run) return run;
    if (auto checked = check_access(*run); !checked) return tl::unexpected(checked.error());
    return run;
}

Result<void> make_run_folder(Run const& run)
{
    if (!run.shared_group) return make_folder(run.folder);
    if (auto checked = check_links(run); !checked) return checked;
    auto made = make_shared_folder(run.folder, *run.shared_group, open_to_group | sticky);
    umask(007);
    return made;
}

Result<void> make_poller_folder(Run const& run)
{
    if (!run.shared_group) return ensure_private_folder(run.poller_folder());
    return make_folder(run.poller_folder());
}

Result<void> make_store_folder(Run const& run)
{
    if (run.store.is_s3()) return {};
    if (!run.shared_group) return make_folder(run.store.folder());
    // A store gives its bits to all that is in it, and any member may sweep it.
    return make_shared_folder(run.store.folder(), *run.shared_group, open_to_group);
}

Result<void> make_job_logs(Run const& run, SiteId const& site)
{
    auto const logs = run.job_logs(site);
    if (!run.shared_group) return ensure_private_folder(logs);
    constexpr char const* remedy = "set XDG_STATE_HOME to a folder that only you can change";
    // Before the folders above are made, and again: others may have made one meanwhile.
    for (bool const is_made : {false, true}) {
        if (auto const above = check_folders_above(logs); above.error || !above.warning.empty())
            return fail(ExitCode::permission, "cannot keep the logs of jobs in " + logs.string(),
                        above.error ? above.error->what + ": " + above.error->why : above.warning,
                        remedy);
        auto made = is_made ? Result<void>{} : ensure_private_folder(logs);
        if (!made && made.error().remedy.empty()) made.error().remedy = remedy;
        if (!made) return made;
    }
    return {};
}

}  // namespace curtail::config
