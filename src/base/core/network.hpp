// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace curtail {

/// An IPv4 address.
struct Ipv4 {
    std::uint32_t value{};  ///< the first of its four numbers is in the highest byte
    /// Parses four numbers from 0 to 255, such as `10.1.0.7`. Returns an empty optional for any
    /// other text.
    [[nodiscard]] static std::optional<Ipv4> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(Ipv4, Ipv4) = default;
};

/// All addresses that begin with the same bits.
struct Network {
    Ipv4 first{};  ///< the smallest address
    int bits{32};  ///< 0 to 32
    /// Parses `10.1.0.0/16`, or a single address. Returns an empty optional for any other text, and
    /// if the address has more bits than the network.
    [[nodiscard]] static std::optional<Network> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool contains(Ipv4 address) const;
    friend bool operator==(Network const&, Network const&) = default;
};
[[nodiscard]] bool contain(std::vector<Network> const& networks, Ipv4 address);

/// TCP ports from `first` to `last`.
struct PortRange {
    std::uint16_t first{};
    std::uint16_t last{};
    /// Parses `50000-50100`. Returns an empty optional for any other text, if a port is 0, and if
    /// the range is empty.
    [[nodiscard]] static std::optional<PortRange> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
    friend bool operator==(PortRange const&, PortRange const&) = default;
};

/// Parses a TCP port from 1 to 65535. Returns an empty optional for any other text.
[[nodiscard]] std::optional<std::uint16_t> parse_port(std::string_view text);

}  // namespace curtail
