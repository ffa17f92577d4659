// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "protocol/chain/run_objects.hpp"

// Copies a run from one store to another.
namespace curtail::operate {

/// How far a copy is.
struct CopyProgress {
    char const* stage;    ///< what is being copied: `payloads`, `headers`, `journals` or `commits`
    char const* unit;     ///< of the numbers: `bytes`, `objects` or `streams`
    std::int64_t done{};  ///< of this stage
    std::int64_t total{};
};

/// What a copy has done.
struct CopySummary {
    CommitNumber newest;            ///< the newest commit of the copy
    std::int64_t commits{};         ///< in the copy
    std::int64_t headers{};         ///< in the copy
    std::int64_t payloads{};        ///< in the copy
    std::int64_t written{};         ///< objects that this call wrote
    Bytes bytes;                    ///< size of the objects that this call wrote
    std::int64_t pieces{};          ///< pieces of the sites' journals in the copy
    std::int64_t damaged_pieces{};  ///< pieces that are damaged in the source and in the copy
    std::int64_t left_out{};        ///< deltas of pending contributions that the source lacks
    std::int64_t found{};          ///< objects that the destination had already, and that are right
    bool source_has_grown{false};  ///< the source has a newer commit now
};

/// Copies a run into the store `to`: run.json, all commits, all headers that a commit decides or
/// may still decide, the payloads that the run keeps, and the journals of its sites. Leaves out
/// probes, leases and everything that a sweep would delete.
///
/// Compares every object with the digest that the chain states: those of the source while it reads
/// them, and those that `to` has already. So an interrupted copy can be repeated; it writes only
/// what is missing or damaged.
///
/// Writes payloads before the headers and commits that name them, commits in order, and run.json
/// last. Without run.json, no program takes what is in `to` for a run.
///
/// Several threads may call `progress`, but only one at a time.
///
/// Sites may train with the source. None must train with the copy before it is complete.
///
/// Fails with `no_input` if the source has no commit of the run. Fails with `protocol` if the
/// source is damaged, or if `to` has another run of this name: then it has written nothing, or only
/// payloads. Returns errors of the stores unchanged.
[[nodiscard]] Result<CopySummary> copy_run(
    chain::RunObjects const& from, store::ObjectStore& to,
    std::function<void(CopyProgress const&)> const& progress = {});

}  // namespace curtail::operate
