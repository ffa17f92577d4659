// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/trusted_files.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/core/text.hpp"
#include "base/process/command.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs {
namespace {

namespace fs = std::filesystem;

using Kind = config::LaunchSettings::Kind;
using Sites = std::vector<config::Site const*>;

// The value of a variable; without it, `fallback`.
std::string variable(char const* name, char const* fallback = "")
{
    char const* const value = std::getenv(name);
    return value != nullptr ? value : fallback;
}

// Where somebody who puts a file into the folder `path` would have to write: into the folder, or
// into one above it or on the way of a link, if it is missing.
std::vector<fs::path> places_of(fs::path path)
{
    constexpr std::size_t most_links = 40;  // as in path_resolution(7)
    std::error_code error;
    std::vector<fs::path> places;
    while (path.has_relative_path() && !fs::exists(path, error) && places.size() < most_links) {
        if (fs::is_symlink(fs::symlink_status(path, error))) {
            places.push_back(path.parent_path());
            path = path.parent_path() / fs::read_symlink(path, error);
        } else {
            path = path.parent_path();
        }
    }
    places.push_back(path);
    return places;
}

tl::unexpected<Error> untrusted_path(std::string_view folder, std::string why)
{
    return fail(
        ExitCode::permission, "cannot trust the PATH", std::move(why),
        "remove " + (folder.empty() ? "the empty entry" : printable(folder)) + " from the PATH");
}

// Checks that nobody else could create what is missing at `path`. Returns an empty text, or a
// warning about a folder above.
Result<std::string> check_places(fs::path const& path, Trust const& trust)
{
    std::string warning;
    for (auto const& place : places_of(path)) {
        auto checked = check_access(place, trust);
        if (!checked) return checked;
        if (warning.empty()) warning = std::move(*checked);
    }
    return warning;
}

// Checks a file that is missing now, and that is followed or run as soon as somebody creates it.
Result<std::string> check_missing_file(fs::path const& file, Trust const& trust)
{
    auto checked = check_places(file, trust);
    if (checked) return checked;
    return fail(ExitCode::permission, "cannot trust " + file.string(),
                "it is missing, and others could create it: " + checked.error().what + ": " +
                    checked.error().why,
                "name a file in a folder that nobody else can change");
}

// Checks a folder of the PATH that lacks the command `name`: somebody could put it there.
Result<std::string> check_folder_before(std::string_view folder, std::string const& name,
                                        Trust const& trust)
{
    auto checked = check_places(folder, trust);
    if (checked) return checked;
    return untrusted_path(folder, "others could put " + name + " into " + printable(folder) + ": " +
                                      checked.error().what + ": " + checked.error().why);
}

// Checks the command that the PATH leads to, and the folders before it. A missing command is no
// error: the program that runs it reports it.
Result<std::string> check_command(std::string const& name, Trust const& trust)
{
    auto const path = variable("PATH", "/usr/local/bin:/usr/bin:/bin");
    std::string warning;
    for (auto const folder : split(path, ':')) {
        if (!folder.starts_with('/'))
            return untrusted_path(
                folder, "its entry \"" + printable(folder) + "\" depends on the current folder");
        auto const file = fs::path(folder) / name;
        bool const found = process::is_program(file);
        auto checked = found ? check_access(file, trust) : check_folder_before(folder, name, trust);
        if (!checked) return checked;
        if (warning.empty()) warning = std::move(*checked);
        if (found) break;
    }
    return warning;
}

// Files that jobs run, load or read, and their folders: whoever can write to a program's folder can
// replace the program.
std::set<fs::path> files_of_jobs(Sites const& sites, fs::path const& build)
{
    std::set<fs::path> files{build / "bin", variable("SLURM_CONF")};
    for (auto const* name : {"curtail-train", "curtail-poll", "curtail-block-signals",
                             "curtail-forward-stop", "curtail-bridge"})
        files.insert(build / "bin" / name);
    std::error_code error;
    auto const libraries = build / "lib/curtail";
    for (fs::directory_iterator file(libraries, error), end; !error && file != end;
         file.increment(error))
        files.insert({libraries, file->path()});
    for (auto const* site : sites)
        for (auto const& file :
             {site->launch.script, site->launch.prologue, site->launch.slurm_conf})
            files.insert(file);
    files.erase(fs::path());
    return files;
}

// What slurm/site_train.sh runs, besides the programs of Curtail.
constexpr std::array commands_of_jobs{"mpirun", "scontrol", "timeout", "sed", "hostname"};
// What mpirun runs for the other nodes of a job.
constexpr std::array commands_of_nodes{"srun", "orted"};
constexpr std::array commands_of_pollers{"sbatch", "squeue", "scancel", "scontrol", "sacct"};

Result<std::string> check_files(config::Run const& run, std::set<fs::path> const& files,
                                std::set<std::string> const& commands)
{
    auto warning = config::check_access(run);
    if (!warning) return warning;
    auto const trust = trust_in_installed();
    auto const add = [&](Result<std::string> checked) {
        if (!checked) return warning = std::move(checked), false;
        if (warning->empty()) *warning = std::move(*checked);
        return true;
    };
    std::error_code error;
    for (auto const& file : files) {
        bool const exists = fs::exists(file, error);
        if (!add(exists ? check_access(file, trust) : check_missing_file(file, trust)))
            return warning;
    }
    for (auto const& command : commands)
        if (!add(check_command(command, trust))) return warning;
    return warning;
}

}  // namespace

Result<std::string> check_trusted_files(config::Run const& run, Sites const& sites,
                                        fs::path const& build)
{
    std::set<std::string> commands(commands_of_jobs.begin(), commands_of_jobs.end());
    for (auto const* site : sites) {
        if (site->launch.kind != Kind::slurm) continue;
        commands.insert(commands_of_pollers.begin(), commands_of_pollers.end());
        if (site->launch.nodes > 1)
            commands.insert(commands_of_nodes.begin(), commands_of_nodes.end());
    }
    return check_files(run, files_of_jobs(sites, build), commands);
}

Result<void> check_files_in_job(config::Run const& run, Sites const& sites, fs::path const& build)
{
    auto files = files_of_jobs(sites, variable("CURTAIL_BUILD", build.c_str()));
    if (auto const prologue = variable("CURTAIL_PROLOGUE"); !prologue.empty())
        files.insert(prologue);
    std::set<std::string> commands(commands_of_jobs.begin(), commands_of_jobs.end());
    if (variable("SLURM_JOB_NUM_NODES", "1") != "1")
        commands.insert(commands_of_nodes.begin(), commands_of_nodes.end());
    return check_files(run, files, commands).map([](std::string const&) {});
}

}  // namespace curtail::programs
