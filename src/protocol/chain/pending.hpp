// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "protocol/chain/run_objects.hpp"

// Reads leases, and the headers of pending contributions. No commit depends on these objects. So a
// damaged one does not make a function fail; its error message is added to `unreadable`.
namespace curtail::chain {

/// The headers of one member's pending contributions.
struct PendingHeaders {
    std::vector<protocol::Header> headers;  ///< in order of `seq`
    std::vector<std::string> unreadable;    ///< an error message for each damaged header
};
/// Reads the headers that follow the member's last decided contribution, in order of `seq`. Reads
/// at most 16 headers, and stops at the first header that does not exist. Fails only if the store
/// fails.
[[nodiscard]] Result<PendingHeaders> pending_headers(RunObjects const& objects,
                                                     protocol::Member const& member);

/// The merge leases of one round.
struct Leases {
    std::optional<protocol::Lease> newest;  ///< the newest readable lease; empty if there is none
    std::vector<std::string> unreadable;    ///< an error message for each damaged lease
};
/// Reads the leases for the merge that ends `round`. Fails only if the store fails.
[[nodiscard]] Result<Leases> leases(RunObjects const& objects, Round round);

}  // namespace curtail::chain
