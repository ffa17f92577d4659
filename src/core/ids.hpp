// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace curtail {

/// A name whose type tells what it names: a site is not a run.
template <class Tag>
struct Name {
    std::string value;
    friend auto operator<=>(Name const&, Name const&) = default;
};
using SiteId = Name<struct SiteTag>;      ///< `CAISO_NORTH`: [A-Za-z0-9][A-Za-z0-9_-]{0,31}
using RunId = Name<struct RunTag>;        ///< `demo`: the same alphabet
using RegionId = Name<struct RegionTag>;  ///< a grid region, by its provider's name
using MemberId =
    Name<struct MemberTag>;  ///< `<site>.<8 hex>.<N>`: one instance of a site's process
using WindowId = Name<struct WindowTag>;  ///< `<opening time>`: one window of one site

/// 1 to 32 letters, digits, '_' or '-', the first a letter or digit. Site and run names become part
/// of file names, job names and shell commands.
[[nodiscard]] bool is_plain_name(std::string_view text);
[[nodiscard]] Result<SiteId> parse_site_id(std::string_view text);

/// A counter whose type tells what it counts.
template <class Tag>
struct Ordinal {
    std::int64_t value{};
    friend constexpr auto operator<=>(Ordinal, Ordinal) = default;
    constexpr Ordinal next() const { return {value + 1}; }
};
using CommitNumber = Ordinal<struct CommitTag>;  ///< 1, 2, 3, ... along the chain
using Round = Ordinal<struct RoundTag>;          ///< increases by one with each merge commit
using Seq = Ordinal<struct SeqTag>;              ///< contributions of one member: 1, 2, 3, ...
using BlockIndex = Ordinal<struct BlockTag>;     ///< position in the data stream, in blocks

}  // namespace curtail

template <class Tag>
struct std::hash<curtail::Name<Tag>> {
    std::size_t operator()(curtail::Name<Tag> const& name) const noexcept
    {
        return std::hash<std::string>{}(name.value);
    }
};
