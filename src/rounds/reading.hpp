// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/ids.hpp"
#include "rounds/record.hpp"

/// Rules that every reader of a chain shares: sites, status, reports.
namespace curtail::rounds {

/// The commit to read next in the search for the newest one.
///
/// `found` is the greatest number known to exist (0: none), `missing` the smallest number above it
/// that was missing (0: none). The chain has no gaps, so the search asks for 1, 2, 4, ... until one
/// is missing, bisects, and then confirms: it ends when `found` + 1 is missing.
[[nodiscard]] CommitNumber next_to_read(CommitNumber found, CommitNumber missing);

/// Whether a member may be removed as silent: it missed `max_missed` merges in a row, or the chain
/// has not shown it for longer than `drop_after` + `skew`. `now` is the store's time.
[[nodiscard]] bool is_suspect(Params const& params, Member const& member, Time now);

}  // namespace curtail::rounds
