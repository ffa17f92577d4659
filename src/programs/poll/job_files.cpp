// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/job_files.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/core/files.hpp"

namespace curtail::programs {
namespace {

enum class MissingFile { refused, allowed };

// A file that a launcher names by the key `key`.
struct LauncherFile {
    char const* key;
    std::filesystem::path const& path;  // empty: not named
    MissingFile missing;
};

std::string why_bad(LauncherFile const& file, config::LaunchSettings const& launch)
{
    if (file.path.empty()) return "";
    auto const opened = open_to_read(file.path);
    if (!opened) return opened.error().why;
    if (!*opened && file.missing == MissingFile::refused) return errno_text(ENOENT);
    bool const must_execute =
        launch.kind == config::LaunchSettings::Kind::local && file.path == launch.script;
    return must_execute && access(file.path.c_str(), X_OK) != 0 ? "it is not executable" : "";
}

std::optional<Error> find_bad_file(config::Site const& site)
{
    auto const& launch = site.launch;
    for (auto const& file : {LauncherFile{"script", launch.script, MissingFile::refused},
                             LauncherFile{"prologue", launch.prologue, MissingFile::refused},
                             LauncherFile{"slurm_conf", launch.slurm_conf, MissingFile::allowed}})
        if (auto why = why_bad(file, launch); !why.empty())
            return Error{ExitCode::config,
                         "cannot start jobs at " + site.site.value + ": launcher." + file.key +
                             " " + file.path.string(),
                         std::move(why), "correct the site file, or the file that it names"};
    return std::nullopt;
}

}  // namespace

std::optional<Error> find_bad_job_file(std::vector<config::Site const*> const& sites)
{
    for (auto const* site : sites)
        if (auto error = find_bad_file(*site)) return error;
    return std::nullopt;
}

}  // namespace curtail::programs
