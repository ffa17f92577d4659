// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/site_bridges.hpp"

#include "base/process/identity.hpp"
#include "trainer/bridge/bridge_process.hpp"
#include "trainer/comm/intercommunicator.hpp"
#include "trainer/job/site_inputs.hpp"

namespace curtail::trainer {

Result<bridge::MeetingPlace::Parts> meeting_place(config::Run const& run, config::Site const& site,
                                                  std::shared_ptr<store::ObjectStore> store)
{
    if (auto usable = bridge::check_library(comm::Intercommunicator::library()); !usable)
        return tl::unexpected(usable.error());
    std::error_code none;
    auto const programs = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    auto ends =
        bridge::process_ends({programs / "curtail-bridge", site.mpi.interface, site.mpi.ports});
    return bridge::MeetingPlace::Parts{std::move(store), run.run, std::move(ends), site.mpi.peers};
}

Result<MpiCheck> check_mpi(std::filesystem::path const& run_file, SiteId const& site_id,
                           StopSignal const& stop, Log const& log)
{
    auto const run = config::read_run(run_file);
    if (!run) return tl::unexpected(run.error());
    auto const site = find_site(*run, run_file, site_id);
    if (!site) return tl::unexpected(site.error());
    if (!site->mpi.connect)
        return fail(ExitCode::unavailable, "no MPI connection",
                    "mpi.connect is off in the file of site " + site_id.value);
    auto store = store::open_store(run->store_for(*site));
    if (!store) return tl::unexpected(store.error());
    auto place = meeting_place(*run, *site, std::move(*store));
    if (!place) return tl::unexpected(place.error());
    std::vector<SiteId> others;
    for (auto const& other : run->sites)
        if (other.site != site_id) others.push_back(other.site);
    if (others.empty())
        return fail(ExitCode::config, "no MPI connection", "the run has no other site");
    bridge::CheckLimits limits;
    limits.stopped = [&] { return stop.raised(); };
    stop.catch_signals();
    log.info("waits up to " + format_duration(limits.meet) +
             " for a check of another site of the run");
    auto const checked =
        bridge::check_connection(std::move(*place), site_id, std::move(others), limits);
    if (!checked) return tl::unexpected(checked.error());
    return MpiCheck{process::host_name(), site->mpi, *checked};
}

}  // namespace curtail::trainer
