// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "trainer/bridge/bridges.hpp"

namespace curtail::bridge {

/// What two sites have found when they tried their connection.
struct CheckedConnection {
    SiteId other;
    std::string host;     ///< name of the other site's machine
    std::string library;  ///< name of the MPI library
    double received_mb_per_s{};
    double sent_mb_per_s{};
};

struct CheckLimits {
    /// Returns true if the check must end now.
    std::function<bool()> stopped = [] { return false; };
    Millis meet{600'000};     ///< for the other site to begin its check
    Millis exchange{60'000};  ///< for the transfers in both directions
    Millis pause{500};        ///< between two looks into the store, and two questions
    BridgeLimits bridges{};
};

/// Connects with another site that calls this function at the same time, and transfers
/// `check_bytes` in both directions, one after the other. Both sites meet in `check_folder` of the
/// store; the members of the run do not notice it. `place.folder` is not used.
///
/// Returns when the other site has finished, too. Fails with `unavailable` if they cannot connect
/// or the store does not answer, and with `interrupted` if it was stopped, even in a transfer.
/// `others` are the sites with which to connect.
[[nodiscard]] Result<CheckedConnection> check_connection(MeetingPlace::Parts place,
                                                         SiteId const& site,
                                                         std::vector<SiteId> others,
                                                         CheckLimits const& limits = {});
inline constexpr std::int64_t check_bytes = 64'000'000;

}  // namespace curtail::bridge
