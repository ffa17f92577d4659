// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/frame.hpp"

namespace curtail::bridge {
namespace {

void put(std::span<std::byte> out, std::uint64_t value)
{
    for (auto& byte : out) {
        byte = static_cast<std::byte>(value & 255);
        value >>= 8;
    }
}

std::uint64_t get(std::span<std::byte const> in)
{
    std::uint64_t value = 0;
    for (std::size_t i = in.size(); i-- > 0;) value = value << 8 | std::to_integer<unsigned>(in[i]);
    return value;
}

}  // namespace

std::array<std::byte, head_bytes> encode(FrameHead const& head)
{
    std::array<std::byte, head_bytes> bytes{};
    bytes[0] = static_cast<std::byte>(head.type);
    put(std::span(bytes).subspan(1, 8), head.id);
    put(std::span(bytes).subspan(9, 8), head.number);
    return bytes;
}

std::optional<Frame> decode(std::span<std::byte const> bytes)
{
    if (bytes.size() < head_bytes || bytes.size() > largest_frame) return {};
    auto const type = std::to_integer<std::uint8_t>(bytes[0]);
    if (type < static_cast<std::uint8_t>(FrameType::hello) ||
        type > static_cast<std::uint8_t>(FrameType::leave))
        return {};
    return Frame{{static_cast<FrameType>(type), get(bytes.subspan(1, 8)), get(bytes.subspan(9, 8))},
                 bytes.subspan(head_bytes)};
}

}  // namespace curtail::bridge
