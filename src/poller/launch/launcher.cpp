// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/launcher.hpp"

#include "poller/launch/local.hpp"
#include "poller/launch/slurm.hpp"

namespace curtail::launch {

std::unique_ptr<Launcher> make_launcher(config::Run const& run, config::Site const& site,
                                        std::string const& folder_id,
                                        std::filesystem::path const& build)
{
    JobSpec spec{run.run,
                 site.site,
                 folder_id,
                 run.file,
                 run.site_folder(site.site),
                 run.job_logs(site.site),
                 build,
                 site.ranks,
                 site.launch,
                 run.shared_group};
    switch (site.launch.kind) {
        case config::LaunchSettings::Kind::slurm:
            return std::make_unique<SlurmLauncher>(std::move(spec));
        case config::LaunchSettings::Kind::local:
            return std::make_unique<LocalLauncher>(std::move(spec));
    }
    __builtin_unreachable();
}

}  // namespace curtail::launch
