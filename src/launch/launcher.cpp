// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher.hpp"

#include "launch/local.hpp"
#include "launch/slurm.hpp"

namespace curtail::launch {

std::unique_ptr<Launcher> make_launcher(config::Run const& run, config::Site const& site,
                                        std::string const& mark, std::filesystem::path const& build)
{
    JobOrder order{run.run, site.site,  mark,         run.file, run.site_folder(site.site),
                   build,   site.ranks, site.launcher};
    switch (site.launcher.type) {
        case config::Launcher::Type::slurm:
            return std::make_unique<SlurmLauncher>(std::move(order));
        case config::Launcher::Type::local:
            return std::make_unique<LocalLauncher>(std::move(order));
    }
    __builtin_unreachable();
}

}  // namespace curtail::launch
