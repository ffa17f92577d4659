// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

namespace curtail::data {

/// Maps a pair of tokens to the token into which they merge. It is a hash table with open
/// addressing, filled once and then only read.
class PairTable {
  public:
    /// The result of find() for a pair that is not in the table.
    static constexpr std::uint32_t none = UINT32_MAX;

    /// Makes an empty table with room for `pairs` pairs. Do not insert more.
    explicit PairTable(std::size_t pairs = 0)
    {
        std::size_t size = 64;
        while (size < 2 * pairs + 2) size *= 2;
        slots_.assign(size, Slot{});
    }
    /// Adds a pair. If the pair is already present, keeps the smaller `merged`.
    void insert(std::uint16_t left, std::uint16_t right, std::uint16_t merged)
    {
        auto& slot = slots_[place(key_of(left, right))];
        if (slot.merged == none || merged < slot.merged) slot = {key_of(left, right), merged};
    }
    /// Returns the token into which the pair merges, or `none`.
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
