// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "chain/run_objects.hpp"

// Reads leases, and headers that no commit has decided yet. No commit depends on them. So a damaged
// header or lease does not end the read; its error message is added to `unreadable`.
namespace curtail::chain {

/// The headers of one member's pending contributions.
struct PendingHeaders {
    std::vector<rounds::Header> headers;  ///< in order of `seq`
    std::vector<std::string> unreadable;  ///< an error message for each damaged header
};
/// Reads the headers that follow the member's last decided contribution, 16 at most. Stops at the
/// first header that does not exist. Fails only if the store fails.
[[nodiscard]] Result<PendingHeaders> pending_headers(RunObjects const& objects,
                                                     rounds::Member const& member);

/// The merge leases of one round.
struct Leases {
    std::optional<rounds::Lease> newest;  ///< empty: the round has no readable lease
    std::vector<std::string> unreadable;  ///< an error message for each damaged lease
};
/// Reads the leases for the merge that ends `round`. Fails only if the store fails.
[[nodiscard]] Result<Leases> leases(RunObjects const& objects, Round round);

}  // namespace curtail::chain
