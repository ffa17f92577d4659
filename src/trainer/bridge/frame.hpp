// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

// What the leaders of two sites send each other over a bridge (docs/mpi.md).
namespace curtail::bridge {

enum class FrameType : std::uint8_t {
    hello = 1,    ///< the body is the receiver's token, `number` the version of the protocol
    request = 2,  ///< the body is the digest of `number` bytes
    reply = 3,    ///< `number` is 1 if the data follow, 0 if the sender does not offer them
    data = 4,     ///< the body is a piece of the data from byte `number` on
    leave = 5     ///< the sender leaves; it sends nothing more
};

inline constexpr std::uint64_t protocol_version = 1;
/// The most bytes in the body of a frame.
inline constexpr std::size_t largest_body = std::size_t{1} << 20;

/// A frame begins with its type, `id` and `number`, the latter two as little-endian integers of 8
/// bytes. The rest is its body.
struct FrameHead {
    FrameType type{};
    std::uint64_t id{};  ///< of the request to which the frame belongs; 0 for hello
    std::uint64_t number{};
    friend bool operator==(FrameHead const&, FrameHead const&) = default;
};
inline constexpr std::size_t head_bytes = 17;
inline constexpr std::size_t largest_frame = head_bytes + largest_body;

[[nodiscard]] std::array<std::byte, head_bytes> encode(FrameHead const& head);

struct Frame {
    FrameHead head;
    std::span<std::byte const> body;
};
/// Decodes a frame, to whose bytes the result refers. Returns an empty optional if they are not a
/// frame: shorter than a head, longer than largest_frame, or of an unknown type.
[[nodiscard]] std::optional<Frame> decode(std::span<std::byte const> bytes);

}  // namespace curtail::bridge
