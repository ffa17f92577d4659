// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace curtail::data {

/// Maps two tokens to the token they merge to: a hash table with open addressing, built once and
/// then only read.
class PairTable {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    explicit PairTable(std::size_t pairs = 0)
    {
        std::size_t size = 64;
        while (size < 2 * pairs + 2) size *= 2;
        slots_.assign(size, Slot{});
    }
    /// For a pair that is already present, keeps the smaller result.
    void insert(std::uint16_t left, std::uint16_t right, std::uint16_t merged)
    {
        auto& slot = slots_[place(key_of(left, right))];
        if (slot.merged == none || merged < slot.merged) slot = {key_of(left, right), merged};
    }
    [[nodiscard]] std::uint32_t find(std::uint16_t left, std::uint16_t right) const
    {
        return slots_[place(key_of(left, right))].merged;
    }

  private:
    struct Slot {
        std::uint32_t key{0};
        std::uint32_t merged{none};
    };
    static std::uint32_t key_of(std::uint16_t left, std::uint16_t right)
    {
        return std::uint32_t{left} << 16 | right;
    }
    [[nodiscard]] std::size_t place(std::uint32_t key) const
    {
        std::size_t const mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 32) & mask;
        while (slots_[at].merged != none && slots_[at].key != key) at = (at + 1) & mask;
        return at;
    }
    std::vector<Slot> slots_;
};

}  // namespace curtail::data
