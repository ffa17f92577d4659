// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace curtail::rounds {

/// Blocks `[begin, end)` of the data stream.
struct BlockRange {
    std::int64_t begin{};
    std::int64_t end{};
    friend auto operator<=>(BlockRange const&, BlockRange const&) = default;
};

/// A set of blocks as sorted, disjoint, maximal, half-open ranges: equal sets are equal values.
/// JSON form: `[[0,512],[600,640]]`.
class Ranges {
  public:
    Ranges() = default;
    Ranges(std::initializer_list<BlockRange> ranges);  ///< in any order, overlapping or empty
    /// All blocks of `[begin, end)`; none if end <= begin.
    [[nodiscard]] static Ranges between(std::int64_t begin, std::int64_t end);

    [[nodiscard]] bool empty() const { return list_.empty(); }
    [[nodiscard]] std::int64_t count() const;  ///< blocks
    [[nodiscard]] std::vector<BlockRange> const& list() const { return list_; }
    [[nodiscard]] bool contains(Ranges const& other) const;  ///< every block of `other`
    [[nodiscard]] bool contains(std::int64_t block) const;
    [[nodiscard]] bool overlaps(Ranges const& other) const;
    [[nodiscard]] Ranges lowest(std::int64_t n) const;  ///< its n lowest blocks, or all of them

    friend Ranges operator+(Ranges const& a, Ranges const& b);  ///< union
    friend Ranges operator-(Ranges const& a, Ranges const& b);  ///< difference
    friend Ranges operator&(Ranges const& a, Ranges const& b);  ///< intersection
    Ranges& operator+=(Ranges const& other) { return *this = *this + other; }
    Ranges& operator-=(Ranges const& other) { return *this = *this - other; }
    friend bool operator==(Ranges const&, Ranges const&) = default;

    [[nodiscard]] json::Value to_json() const;
    [[nodiscard]] std::string to_string() const;  ///< `[0,512)+[600,640)`, `-` if empty

  private:
    std::vector<BlockRange> list_;
};

/// Longest list of ranges that a record may hold.
inline constexpr std::size_t ranges_limit = 4096;
/// Strict: pairs of integers `0 <= begin < end <= 2^53`, sorted, disjoint, maximal. Errors have
/// code `protocol` and name the place `where`.
[[nodiscard]] Result<Ranges> ranges_from_json(json::Value const& value, std::string const& where);

}  // namespace curtail::rounds
