// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "protocol/records/record.hpp"
#include "storage/store/object_store.hpp"
#include "trainer/job/site_inputs.hpp"
#include "trainer/job/site_ranks.hpp"
#include "trainer/rounds/answer_in_time.hpp"

namespace curtail::trainer {

/// The run's store, and what a starting site has read from it.
struct RunAtStart {
    std::shared_ptr<store::ObjectStore> store;
    /// run.json; empty if there is none, or if the store failed to read it.
    std::optional<Result<protocol::RunSpec>> spec;
    std::optional<std::string> record;  ///< the bytes of run.json; empty as `spec`
};

/// Returns until when a starting site that must stop may wait for the store. Each call tells the
/// other ranks that the leader still works. `ranks` must outlive the result.
[[nodiscard]] StopDeadline deadline_at_start(SiteRanks& ranks, StopTimes const& times);

/// Opens the run's store and reads run.json. Fails if the store cannot be opened. Fails with
/// `temporary` if it does not answer in time (trainer/rounds/answer_in_time.hpp).
[[nodiscard]] Result<RunAtStart> open_run(SiteInputs const& inputs, StopDeadline const& stop_at);

}  // namespace curtail::trainer
