// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "base/core/network.hpp"
#include "base/core/units.hpp"

namespace curtail::config {

/// How the leader of a site connects with those of other sites over MPI (docs/mpi.md).
struct Mpi {
    bool connect{false};             ///< connect with members that are willing, too
    std::string interface;           ///< network interface to use, e.g. `ib0`
    std::optional<PortRange> ports;  ///< to listen on; empty: any
    std::vector<Network> peers;      ///< with whose addresses to connect
    Millis timeout{15'000};          ///< longest transfer of a payload
};

/// Reads the key `mpi` of a site file.
[[nodiscard]] Mpi read_mpi(json::ObjectReader& r);

}  // namespace curtail::config
