// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/core/network.hpp"
#include "base/core/result.hpp"

namespace curtail::bridge {

/// Where one end of a bridge waits for the other. Comes from the store, so nobody may use it before
/// check_address() has accepted it.
struct ListenAddress {
    std::string server;  ///< URI of the ompi-server beside it; empty for an MPI that needs none
    std::string port;    ///< name of the MPI port
    friend bool operator==(ListenAddress const&, ListenAddress const&) = default;
};

/// Checks what another site has announced. The server's URI must have the form `N.N;tcp://IP:PORT`,
/// with one or more IPv4 addresses before the port. All of them must lie in `networks`. The port's
/// name may have only digits, '.' and ':'. Otherwise fails with `permission`; the message says
/// which site file to change.
[[nodiscard]] Result<void> check_address(ListenAddress const& address,
                                         std::vector<Network> const& networks);

}  // namespace curtail::bridge
