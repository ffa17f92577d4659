// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "protocol/chain/run_objects.hpp"

// Computes the models of merge commits again, from their stored inputs.
namespace curtail::chain {

/// What recomputing a model needs.
struct RecomputeInputs {
    protocol::RunSpec const& run;
    std::vector<LinkedCommit> const& chain;  ///< verified by verify_chain()
    std::int64_t elements{};                 ///< number of values of the model
    /// Returns false if a listing lacks a payload. Null: all may exist.
    std::function<bool(std::string const& name)> may_exist{};
};

/// Computes the model of each merge commit again: from the model and momentum of its parent, and
/// the deltas and scales of the included contributions. Compares all bits with those that the
/// commit names. Returns one entry for each merge commit, in order.
///
/// Needs the memory of one merge's results (protocol/chain/merger.hpp). `progress` receives the
/// number of merges that are done, of those whose inputs may exist.
///
/// Fails with `protocol` if a model differs: then its writer did not merge what the commit says.
/// Returns errors of the store unchanged.
[[nodiscard]] Result<std::vector<RecomputedModel>> recompute_models(
    RunObjects const& objects, RecomputeInputs const& inputs,
    std::function<void(std::int64_t done, std::int64_t total)> const& progress = {});

/// What a merge makes, as a payload.
struct RecomputedPayload {
    std::string head;  ///< of the payload of the same part that the merge read; empty: it read none
    std::vector<float> values{};

    /// Returns the stored form, which refers to this object. Empty if the head is unknown.
    [[nodiscard]] Pieces pieces() const;
};
struct RecomputedPayloads {
    RecomputedPayload weights;
    RecomputedPayload momentum;  ///< without values if the merge makes no momentum
};

/// Computes the merge of `commit` again, whose predecessor is `parent`, and returns its payloads.
/// The caller must compare them with the digests in `commit`. Returns an empty
/// optional if an input is missing, or if the commit has no merge. Returns errors of the store
/// unchanged. Also fails if an input is damaged.
[[nodiscard]] Result<std::optional<RecomputedPayloads>> recompute_payloads(
    RunObjects const& objects, protocol::RunSpec const& run, std::int64_t elements,
    protocol::Commit const& parent, protocol::Commit const& commit);

}  // namespace curtail::chain
