// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/chain/run_objects.hpp"
#include "protocol/records/record.hpp"
#include "run/config/run.hpp"
#include "storage/store/object_store.hpp"
#include "trainer/model/parameters.hpp"

namespace curtail::evaluate {

/// A commit of a run, and the model of that commit.
struct CommittedModel {
    protocol::Commit commit;
    model::Parameters weights;
    Digest manifest;  ///< SHA-256 of the manifest of the data that the run is trained on
};

/// Reads and checks the chain of a run, and reads the weights of commit `wanted`, or of the newest
/// commit if `wanted` is empty.
///
/// Fails with `no_input` if the run has no such commit. Fails with `unavailable` if the store no
/// longer has the weights of the commit. Fails with `protocol` if the chain is broken or a payload
/// differs from its digest. Fails with `config` if the run file and the store's run.json describe
/// models of different shape.
[[nodiscard]] Result<CommittedModel> load_committed(config::Run const& run,
                                                    store::ObjectStore& store,
                                                    std::optional<CommitNumber> wanted,
                                                    chain::CacheSettings const& cache = {});

/// Reads the run's run.json from its store. Fails with `no_input` if there is none. Fails with
/// `config` if the run file and run.json describe models of different shape.
[[nodiscard]] Result<protocol::RunSpec> read_spec(config::Run const& run,
                                                  chain::RunObjects const& objects);

/// Reads the weights of a commit. Holds the payload as a whole only if it has another form than
/// payload::encode() gives. The error of a failure is the one that load_committed() returns.
[[nodiscard]] tl::expected<model::Parameters, store::ReadFailure> read_weights(
    config::Run const& run, chain::RunObjects const& objects, protocol::Commit const& commit,
    CallLimits const& call = {});

/// Fails with `config` if the manifest in the run's data folder does not have the digest
/// `manifest`, that of the data that the run is trained on. Other data may have another tokenizer,
/// or may hold out text that this model was trained on.
[[nodiscard]] Result<void> check_data(config::Run const& run, Digest const& manifest);

}  // namespace curtail::evaluate
