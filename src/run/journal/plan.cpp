// SPDX-License-Identifier: Apache-2.0
#include "run/journal/plan.hpp"

#include <algorithm>

namespace curtail::journal {

std::size_t next_cut(std::string_view unread, std::size_t limit)
{
    auto const within = unread.substr(0, limit);
    auto const newline = within.rfind('\n');
    if (newline != std::string_view::npos) return newline + 1;
    return within.size() == limit ? limit : 0;
}

std::size_t common_lines(std::string_view a, std::string_view b)
{
    auto const [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    auto const common = a.substr(0, static_cast<std::size_t>(end - a.begin()));
    auto const newline = common.rfind('\n');
    return newline == std::string_view::npos ? 0 : newline + 1;
}

PieceHeader next_header(StreamEnd const& end, Start const& start, std::string_view content,
                        bool more, std::optional<TimeScale> const& clock, Time now)
{
    PieceHeader header;
    header.number = end.number.next();
    bool const goes_on = end.good && !start.new_continuation;
    header.continuation = end.good ? end.good->header.continuation + (goes_on ? 0 : 1) : 1;
    header.first = goes_on ? end.good->header.first : header.number;
    header.range = {start.from, start.from + static_cast<std::int64_t>(content.size())};
    header.content = sha256(content);
    header.previous = end.digest;
    header.time = now;
    header.more = more;
    header.clock = clock;
    return header;
}

Result<PieceNumber> find_newest(std::function<Result<bool>(PieceNumber)> const& exists,
                                PieceNumber known)
{
    auto found = known.value;
    auto missing = last_piece.value + 1;
    for (std::int64_t step = 1; found + 1 < missing;) {
        bool const bisects = found + step >= missing;
        auto const probe = bisects ? found + (missing - found) / 2 : found + step;
        auto const answer = exists({probe});
        if (!answer) return tl::unexpected(answer.error());
        if (!*answer) missing = probe;
        if (*answer) found = probe;
        step *= 2;
    }
    return PieceNumber{found};
}

}  // namespace curtail::journal
