// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/trusted_files.hpp"

#include <unistd.h>

#include <cstdlib>
#include <set>

#include "base/core/text.hpp"
#include "run/config/trusted.hpp"

namespace curtail::programs {
namespace {

namespace fs = std::filesystem;

using Kind = config::LaunchSettings::Kind;

// The first program of this name on the PATH, without links.
fs::path find_program(std::string const& name)
{
    char const* const path = std::getenv("PATH");
    std::error_code error;
    for (auto const folder : split(path != nullptr ? path : "", ':'))
        if (auto const file = fs::path(folder) / name; access(file.c_str(), X_OK) == 0)
            return fs::canonical(file, error);
    return {};
}

// Files that jobs run or read, and their folders: whoever can write to a program's folder can
// replace the program.
std::set<fs::path> files_of_jobs(std::vector<config::Site const*> const& sites,
                                 fs::path const& build)
{
    std::set<fs::path> files{build / "bin"};
    for (auto const* name : {"curtail-train", "curtail-poll", "curtail-block-signals",
                             "curtail-forward-stop", "curtail-bridge"})
        files.insert(build / "bin" / name);
    for (auto const* site : sites) {
        auto const& launch = site->launch;
        for (auto const& file : {launch.script, launch.prologue, launch.slurm_conf})
            if (!file.empty()) files.insert(file);
        if (launch.kind != Kind::slurm) continue;
        for (auto const* name : {"sbatch", "squeue", "scancel", "scontrol", "sacct"})
            if (auto const program = find_program(name); !program.empty()) files.insert(program);
    }
    return files;
}

}  // namespace

Result<std::string> check_trusted_files(config::Run const& run,
                                        std::vector<config::Site const*> const& sites,
                                        fs::path const& build)
{
    auto warning = config::check_access(run);
    if (!warning) return warning;
    auto const trust = trust_in_installed();
    for (auto const& file : files_of_jobs(sites, build)) {
        auto checked = check_access(file, trust);
        if (!checked) return checked;
        if (warning->empty()) *warning = std::move(*checked);
    }
    return warning;
}

}  // namespace curtail::programs
