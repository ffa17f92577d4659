// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/core/json.hpp"

namespace curtail::protocol {

/// The blocks `[begin, end)` of the run's stream. The first block of the first epoch has the number
/// 0; numbering continues through all epochs.
struct BlockRange {
    std::int64_t begin{};
    std::int64_t end{};
    friend auto operator<=>(BlockRange const&, BlockRange const&) = default;
};

/// A set of blocks, stored as a sorted list of as few half-open ranges as possible. Each set has
/// exactly one such list. The JSON form is `[[0,512],[600,640]]`.
class Ranges {
  public:
    Ranges() = default;
    Ranges(std::initializer_list<BlockRange> ranges);  ///< in any order; may overlap or be empty
    /// Returns the set of the blocks in `[begin, end)`, which is empty if end <= begin.
    [[nodiscard]] static Ranges between(std::int64_t begin, std::int64_t end);

    [[nodiscard]] bool empty() const { return list_.empty(); }
    [[nodiscard]] std::int64_t count() const;  ///< number of blocks
    [[nodiscard]] std::vector<BlockRange> const& list() const { return list_; }
    /// Returns true if this set contains all blocks of `other`.
    [[nodiscard]] bool contains(Ranges const& other) const;
    [[nodiscard]] bool overlaps(Ranges const& other) const;
    /// Returns the n lowest blocks. Returns all blocks if there are fewer than n.
    [[nodiscard]] Ranges lowest(std::int64_t n) const;

    friend Ranges lowest_within(Ranges const& added, Ranges const& set, std::size_t limit);
    friend Ranges operator+(Ranges const& a, Ranges const& b);  ///< union
    friend Ranges operator-(Ranges const& a, Ranges const& b);  ///< difference
    friend Ranges operator&(Ranges const& a, Ranges const& b);  ///< intersection
    Ranges& operator+=(Ranges const& other) { return *this = *this + other; }
    Ranges& operator-=(Ranges const& other) { return *this = *this - other; }
    friend bool operator==(Ranges const&, Ranges const&) = default;
    friend Result<Ranges> ranges_from_json(json::Value const& value, std::string const& where);

    [[nodiscard]] json::Value to_json() const;
    [[nodiscard]] std::string to_string() const;  ///< `[0,512)+[600,640)`, `-` if empty

  private:
    /// Returns the blocks for which `keep` returns true. Its arguments tell whether `a` and `b`
    /// contain the block; it must return false for a block in neither.
    template <class Keep>
    [[nodiscard]] static Ranges combine(Ranges const& a, Ranges const& b, Keep keep);

    std::vector<BlockRange> list_;
};

/// Returns the lowest part of `added` whose union with `set` has at most `limit` ranges.
[[nodiscard]] Ranges lowest_within(Ranges const& added, Ranges const& set, std::size_t limit);

/// The most ranges that one set in a record may have.
inline constexpr std::size_t ranges_limit = 16'384;
/// Reads the JSON form of a set: a sorted list of at most ranges_limit pairs `[begin, end]`. Each
/// pair must satisfy 0 <= begin < end <= 2^53. At least one block must lie between two
/// neighbours. Fails with `protocol` if `value` has another form. Error messages name the place
/// `where`.
[[nodiscard]] Result<Ranges> ranges_from_json(json::Value const& value, std::string const& where);

}  // namespace curtail::protocol
