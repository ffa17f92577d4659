// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "chain/run_objects.hpp"

/// Records that no commit refers to yet. Nothing depends on them, so a damaged one is listed under
/// `unreadable` (its error message) instead of ending the read.
namespace curtail::chain {

struct PendingHeaders {
    std::vector<rounds::Header> headers;  ///< in order of `seq`
    std::vector<std::string> unreadable;
};
/// The contributions that a member announced after its last decided one, 16 at most.
[[nodiscard]] Result<PendingHeaders> pending_headers(RunObjects const& objects,
                                                     rounds::Member const& member);

struct Leases {
    std::optional<rounds::Lease> newest;
    std::vector<std::string> unreadable;
};
/// The newest lease to merge on top of `round`.
[[nodiscard]] Result<Leases> leases(RunObjects const& objects, Round round);

}  // namespace curtail::chain
