// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/shared_folders.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <vector>

namespace curtail::programs {

std::string warning_of_shared_folders(config::Run const& run)
{
    std::vector<std::filesystem::path> folders{run.folder, run.poller_folder(),
                                               run.folder / "sites"};
    for (auto const& site : run.sites) folders.push_back(run.site_folder(site.site));
    for (auto const& folder : folders) {
        struct stat status {};
        if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
        auto const mode = status.st_mode & 07777U;
        if (!lets_others_replace_files(mode)) continue;
        return fmt::format(
            "other users may write to {0} (mode {1:04o}): they could replace "
            "the run's files; chmod go-w {0}",
            folder.string(), mode);
    }
    return {};
}

}  // namespace curtail::programs
