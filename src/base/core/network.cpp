// SPDX-License-Identifier: Apache-2.0
#include "base/core/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail {
namespace {

// A number from 0 to `most`, without sign and leading zeros.
std::optional<std::uint32_t> parse_up_to(std::uint32_t most, std::string_view text)
{
    if (text.size() > 1 && text.front() == '0') return {};
    auto const value = parse_number<std::uint32_t>(text);
    return value && *value <= most ? value : std::nullopt;
}

std::uint32_t mask_of(int bits) { return bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits); }

}  // namespace

std::optional<Ipv4> Ipv4::parse(std::string_view text)
{
    auto const parts = split(text, '.');
    if (parts.size() != 4) return {};
    Ipv4 address;
    for (auto const part : parts) {
        auto const number = parse_up_to(255, part);
        if (!number) return {};
        address.value = address.value << 8 | *number;
    }
    return address;
}

std::string Ipv4::text() const
{
    return fmt::format("{}.{}.{}.{}", value >> 24, value >> 16 & 255, value >> 8 & 255,
                       value & 255);
}

std::optional<Network> Network::parse(std::string_view text)
{
    auto const slash = std::min(text.find('/'), text.size());
    auto const first = Ipv4::parse(text.substr(0, slash));
    auto const bits = slash == text.size() ? 32 : parse_up_to(32, text.substr(slash + 1));
    if (!first || !bits) return {};
    Network const network{*first, static_cast<int>(*bits)};
    return (first->value & ~mask_of(network.bits)) == 0 ? std::optional(network) : std::nullopt;
}

std::string Network::text() const { return fmt::format("{}/{}", first.text(), bits); }

bool Network::contains(Ipv4 address) const
{
    return (address.value & mask_of(bits)) == first.value;
}

bool contain(std::vector<Network> const& networks, Ipv4 address)
{
    return std::any_of(networks.begin(), networks.end(),
                       [&](Network const& network) { return network.contains(address); });
}

std::optional<PortRange> PortRange::parse(std::string_view text)
{
    auto const dash = std::min(text.find('-'), text.size());
    auto const first = parse_port(text.substr(0, dash));
    auto const last = parse_port(text.substr(std::min(dash + 1, text.size())));
    if (!first || !last || *first > *last) return {};
    return PortRange{*first, *last};
}

std::string PortRange::text() const { return fmt::format("{}-{}", first, last); }

std::optional<std::uint16_t> parse_port(std::string_view text)
{
    auto const port = parse_up_to(65'535, text);
    if (!port || *port == 0) return {};
    return static_cast<std::uint16_t>(*port);
}

}  // namespace curtail
