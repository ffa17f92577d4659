// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "trainer/bridge/stream.hpp"

namespace curtail::bridge {

/// How to start an end of a bridge.
struct ProcessSettings {
    std::filesystem::path program;     ///< curtail-bridge
    std::string interface;             ///< network interface, e.g. `ib0`
    std::optional<PortRange> ports{};  ///< to listen on; empty: any
};

/// Fails with `unavailable` unless `library` is Open MPI 4, as MPI_Get_library_version() names it.
/// No other MPI is known to connect two jobs in this way.
[[nodiscard]] Result<void> check_library(std::string_view library);

/// Returns ends that are the program curtail-bridge, each under an mpirun of its own. So no failure
/// of MPI can end this process, and the MPI of the training is not concerned. An end that waits has
/// an `ompi-server` of its own, too, with whose help Open MPI 4 connects two jobs.
///
/// The processes of an end end with the object. If this process is killed, they end by themselves.
[[nodiscard]] Ends process_ends(ProcessSettings const& settings);

}  // namespace curtail::bridge
