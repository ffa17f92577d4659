// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail {

/// A name. Its type tells whether it names a site, a run or something else. So the compiler rejects
/// the name of a site where a function expects the name of a run.
template <class Tag>
struct Name {
    std::string value;
    friend auto operator<=>(Name const&, Name const&) = default;
};
using SiteId = Name<struct SiteTag>;      ///< such as `CAISO_NORTH`; see is_plain_name()
using RunId = Name<struct RunTag>;        ///< such as `demo`; see is_plain_name()
using RegionId = Name<struct RegionTag>;  ///< a grid region, as the signal provider names it
/// The name of one instance of a site's trainer: `<site>.<8 hex digits>.<N>`. The hex digits
/// identify the process. N is the number of the commit that admitted the instance.
using MemberId = Name<struct MemberTag>;
/// The name of a site's window: the time at which the window opened, as format_time() writes it.
using WindowId = Name<struct WindowTag>;

/// Tells whether `text` is a plain name. A plain name has 1 to 32 characters: first a letter or a
/// digit, then letters, digits, '_' or '-'. The names of sites and runs must be plain names,
/// because they become parts of file names, job names and shell commands.
[[nodiscard]] bool is_plain_name(std::string_view text);
/// Parses the name of a site. Fails with `config` if `text` is not a plain name.
[[nodiscard]] Result<SiteId> parse_site_id(std::string_view text);

/// A counter whose type tells what it counts.
template <class Tag>
struct Ordinal {
    std::int64_t value{};
    friend constexpr auto operator<=>(Ordinal, Ordinal) = default;
    constexpr Ordinal next() const { return {value + 1}; }
};
using CommitNumber = Ordinal<struct CommitTag>;  ///< number of a commit in the chain: 1, 2, 3, ...
using Round = Ordinal<struct RoundTag>;  ///< number of a round; a merge commit increases it by one
/// Number of a contribution. Each member numbers its own contributions 1, 2, 3, ...
using Seq = Ordinal<struct SeqTag>;

}  // namespace curtail

template <class Tag>
struct std::hash<curtail::Name<Tag>> {
    std::size_t operator()(curtail::Name<Tag> const& name) const noexcept
    {
        return std::hash<std::string>{}(name.value);
    }
};
