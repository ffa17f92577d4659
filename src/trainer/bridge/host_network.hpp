// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>

#include "base/core/network.hpp"
#include "base/core/result.hpp"

// The network of this machine. The functions fail with `unavailable`.
namespace curtail::bridge {

/// Fails if this machine has no network interface of this name with an IPv4 address. The message
/// names those that it has.
[[nodiscard]] Result<void> check_interface(std::string const& name);
/// Returns two ports of the range, chosen at random, at which nobody listens now. Fails if there
/// are no two at which this user can listen.
[[nodiscard]] Result<std::pair<std::string, std::string>> two_free_ports(PortRange const& range);

}  // namespace curtail::bridge
