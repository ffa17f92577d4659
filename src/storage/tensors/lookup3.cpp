// SPDX-License-Identifier: Apache-2.0
#include "storage/tensors/lookup3.hpp"

#include <bit>
#include <cstring>

namespace curtail::tensors {
namespace {

constexpr std::size_t block = 12;

struct State {
    std::uint32_t a, b, c;

    // Adds the next up to 12 bytes. Missing bytes count as zeros.
    void add(std::string_view bytes)
    {
        std::uint32_t words[3] = {0, 0, 0};
        std::memcpy(words, bytes.data(), bytes.size());
        a += words[0];
        b += words[1];
        c += words[2];
    }
    void mix()
    {
        step(a, c, b, 4);
        step(b, a, c, 6);
        step(c, b, a, 8);
        step(a, c, b, 16);
        step(b, a, c, 19);
        step(c, b, a, 4);
    }
    void finish()
    {
        fold(c, b, 14);
        fold(a, c, 11);
        fold(b, a, 25);
        fold(c, b, 16);
        fold(a, c, 4);
        fold(b, a, 14);
        fold(c, b, 24);
    }

  private:
    static void step(std::uint32_t& x, std::uint32_t& y, std::uint32_t const& z, int shift)
    {
        x -= y;
        x ^= std::rotl(y, shift);
        y += z;
    }
    static void fold(std::uint32_t& x, std::uint32_t y, int shift)
    {
        x ^= y;
        x -= std::rotl(y, shift);
    }
};

}  // namespace

std::uint32_t lookup3(std::string_view bytes)
{
    static_assert(std::endian::native == std::endian::little);
    auto const start = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
    State state{start, start, start};
    while (bytes.size() > block) {
        state.add(bytes.substr(0, block));
        state.mix();
        bytes.remove_prefix(block);
    }
    if (bytes.empty()) return state.c;
    state.add(bytes);
    state.finish();
    return state.c;
}

}  // namespace curtail::tensors
