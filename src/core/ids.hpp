// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace curtail {

/// A name of one kind that cannot be mistaken for a name of another kind.
template <class Kind>
struct Name {
    std::string value;
    friend auto operator<=>(Name const&, Name const&) = default;
};
using SiteId = Name<struct SiteKind>;      ///< `CAISO_NORTH`: [A-Za-z0-9][A-Za-z0-9_-]{0,31}
using RunId = Name<struct RunKind>;        ///< `demo`: the same alphabet
using RegionId = Name<struct RegionKind>;  ///< a grid region as its provider calls it
using MemberId = Name<struct MemberKind>;  ///< `<site>.<8 hex>.<N>`: one life of one site's process
using WindowId = Name<struct WindowKind>;  ///< `<opening time>`: one window of one site

/// Site and run names travel into file names, job names and shell lines, so their alphabet is
/// narrow.
[[nodiscard]] bool is_plain_name(std::string_view text);
[[nodiscard]] Result<SiteId> parse_site_id(std::string_view text);

/// A counter of one kind. Arithmetic only with plain offsets.
template <class Kind>
struct Ordinal {
    std::int64_t value{};
    friend constexpr auto operator<=>(Ordinal, Ordinal) = default;
    constexpr Ordinal next() const { return {value + 1}; }
};
using CommitNumber = Ordinal<struct CommitKind>;  ///< 1, 2, 3, ... of the chain
using Round = Ordinal<struct RoundKind>;          ///< rises by one with each merge commit
using Seq = Ordinal<struct SeqKind>;              ///< 1, 2, 3, ... contributions of one member
using BlockIndex = Ordinal<struct BlockKind>;     ///< position in the data stream, in blocks

}  // namespace curtail

template <class Kind>
struct std::hash<curtail::Name<Kind>> {
    std::size_t operator()(curtail::Name<Kind> const& name) const noexcept
    {
        return std::hash<std::string>{}(name.value);
    }
};
