// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "base/core/ids.hpp"
#include "base/core/log.hpp"
#include "base/core/result.hpp"
#include "trainer/comm/collectives.hpp"
#include "trainer/comm/mpi_session.hpp"
#include "trainer/engine/recorder.hpp"
#include "trainer/job/permission_guard.hpp"
#include "trainer/job/stop_signal.hpp"
#include "trainer/model/gpu_operators.hpp"

namespace curtail::trainer {

/// What to train, and how.
struct TrainOptions {
    std::filesystem::path run;    ///< the run file
    SiteId site;                  ///< the site at which to train; the run file must name it
    std::string job;              ///< the launcher's id of the job, for events and status.json
    bool alone{false};            ///< train without a store
    int threads{1};               ///< CPU threads of this rank
    comm::PlaceOnNode on_node{};  ///< this rank's place on its node
    StepWatcher watcher{};        ///< called on the leader
    permission::Requirement requirement{
        permission::Requirement::if_served};  ///< see PermissionGuard
    std::optional<Millis> kill_wait{};        ///< see StopTimes
    /// Number of steps of which each rank writes a trace; 0: no trace.
    std::int64_t profiled_steps{0};
    model::GpuChoice gpu{};  ///< the operators to use on a GPU
};

/// Does the work of one rank in a site's job, from start to end. Every rank of the job must call
/// this function. If a rank cannot read its inputs, every rank fails. A later error is returned
/// only on the leader.
[[nodiscard]] Result<void> train_site(TrainOptions const& options, comm::Collectives& collectives,
                                      StopSignal const& stop, Log const& log);

}  // namespace curtail::trainer
