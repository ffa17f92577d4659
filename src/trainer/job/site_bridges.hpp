// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "base/core/log.hpp"
#include "run/config/run.hpp"
#include "trainer/bridge/check.hpp"
#include "trainer/job/stop_signal.hpp"

// The MPI connections of a site, as its site file wants them (docs/mpi.md).
namespace curtail::trainer {

/// Returns where the site meets the others. Fails with `unavailable` if this machine's MPI does
/// not connect jobs.
[[nodiscard]] Result<bridge::MeetingPlace::Parts> meeting_place(
    config::Run const& run, config::Site const& site, std::shared_ptr<store::ObjectStore> store);

struct MpiCheck {
    std::string host;  ///< name of this machine
    config::Mpi mpi;   ///< of this site
    bridge::CheckedConnection connection;
};
/// Tries the connection with another site that does the same (bridge::check_connection). Fails with
/// `unavailable` and the reason why the site would use the store, with `config` if the run file
/// cannot be used, and with `interrupted` after a stop request.
[[nodiscard]] Result<MpiCheck> check_mpi(std::filesystem::path const& run_file, SiteId const& site,
                                         StopSignal const& stop, Log const& log);

}  // namespace curtail::trainer
