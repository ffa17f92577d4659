// SPDX-License-Identifier: Apache-2.0
#include "run/config/mpi.hpp"

#include "base/core/text.hpp"
#include "run/config/read.hpp"

namespace curtail::config {
namespace {

// The name becomes a variable of Open MPI and UCX, where a comma begins another one.
bool is_interface(std::string_view name)
{
    constexpr std::string_view allowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    constexpr std::size_t longest = 15;  // IFNAMSIZ - 1
    return !name.empty() && name.size() <= longest && name.find_first_not_of(allowed) == name.npos;
}

std::vector<Network> read_networks(json::ObjectReader& r, std::string const& key)
{
    std::vector<Network> networks;
    for (auto const& value : r.list(key, false)) {
        auto const* const text = value.as_text();
        auto const network = text != nullptr ? Network::parse(*text) : std::nullopt;
        r.require(network.has_value(), key,
                  "must be IPv4 networks without bits after the prefix, such as [\"10.1.0.0/16\"]" +
                      (text != nullptr ? ", and not \"" + printable(*text) + "\"" : ""));
        if (network) networks.push_back(*network);
    }
    return networks;
}

std::optional<PortRange> read_ports(json::ObjectReader& r, std::string const& key)
{
    auto const text = r.optional_text(key);
    if (!text) return {};
    auto const range = PortRange::parse(*text);
    r.require(range.has_value(), key, "must be two ports from 1 to 65535: \"50000-50100\"");
    constexpr int fewest = 16;  // that the programs of one connection use
    r.require(!range || range->last - range->first + 1 >= fewest, key,
              "must be at least " + std::to_string(fewest) + " ports");
    return range;
}

}  // namespace

Mpi read_mpi(json::ObjectReader& r)
{
    Mpi mpi;
    mpi.connect = r.one_of("connect", {"off", "auto"}, 0) == 1;
    mpi.interface = r.text("interface", "");
    mpi.ports = read_ports(r, "ports");
    mpi.peers = read_networks(r, "peers");
    mpi.timeout = read_seconds(r, "timeout_s", mpi.timeout);
    constexpr std::chrono::hours longest{1};
    r.require(mpi.timeout > Millis{0} && mpi.timeout <= longest, "timeout_s",
              "must be up to 3600 s");
    if (!mpi.connect && mpi.interface.empty()) return mpi;
    r.require(is_interface(mpi.interface), "interface",
              "must be the name of a network interface, such as ib0: at most 15 letters, digits, "
              "dots, underscores and hyphens");
    r.require(!mpi.connect || !mpi.peers.empty(), "peers",
              "must name the networks of the other sites if connect is auto: MPI does not "
              "authenticate");
    return mpi;
}

}  // namespace curtail::config
