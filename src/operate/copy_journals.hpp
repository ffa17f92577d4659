// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// What a copy of journals has done.
struct JournalCopy {
    std::int64_t pieces{};   ///< in the copy
    std::int64_t damaged{};  ///< pieces that are damaged in the source and in the copy
    std::int64_t written{};  ///< pieces that this call wrote
    Bytes bytes;             ///< size of the pieces that this call wrote
};

/// Copies the journals of the sites, and their closings, into the store `to`. Reads the pieces that
/// `to` has already, compares them, and replaces a damaged one. `newest` is the newest commit of
/// the copy: it lacks a closing that names a later one. `progress` receives the number of streams
/// that are done, from several threads, but one at a time.
///
/// Fails with `protocol` if `to` has a sound piece with other bytes. Returns errors of the stores
/// unchanged.
[[nodiscard]] Result<JournalCopy> copy_journals(
    chain::RunObjects const& from, store::ObjectStore& to, std::vector<SiteId> const& sites,
    CommitNumber newest,
    std::function<void(std::int64_t done, std::int64_t total)> const& progress = {});

}  // namespace curtail::operate
