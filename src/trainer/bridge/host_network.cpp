// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/host_network.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <random>

#include "base/core/files.hpp"

namespace curtail::bridge {
namespace {

tl::unexpected<Error> cannot(std::string why, std::string remedy)
{
    return fail(ExitCode::unavailable, "cannot start an end of a bridge", std::move(why),
                std::move(remedy));
}

}  // namespace

Result<void> check_interface(std::string const& name)
{
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0)
        return cannot("the network interfaces of this machine are unknown: " + errno_text(errno),
                      "");
    std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const owner(all, ::freeifaddrs);
    std::string usable;
    bool exists = false;
    for (auto const* i = all; i != nullptr; i = i->ifa_next) {
        exists |= name == i->ifa_name;
        if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
        if (name == i->ifa_name) return {};
        usable += (usable.empty() ? "" : ", ") + std::string(i->ifa_name);
    }
    return cannot(exists ? "the network interface " + name + " of this machine has no IPv4 address"
                         : "this machine has no network interface " + name,
                  "set mpi.interface to one of: " + usable);
}

// Two processes that choose at random rarely choose the same port.
Result<std::pair<std::string, std::string>> two_free_ports(PortRange const& range)
{
    int const count = range.last - range.first + 1;
    int const start = static_cast<int>(std::random_device{}() % static_cast<unsigned>(count));
    std::string found;
    for (int i = 0; i < count; ++i) {
        auto const port = static_cast<std::uint16_t>(range.first + (start + i) % count);
        Fd const socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        if (!socket ||
            ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            continue;
        if (!found.empty()) return std::pair(found, std::to_string(port));
        found = std::to_string(port);
    }
    return cannot("this user can listen at no two ports of " + range.text(),
                  "choose other ports in mpi.ports");
}

}  // namespace curtail::bridge
