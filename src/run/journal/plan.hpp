// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "run/journal/piece.hpp"

// The decisions of a stream's writer. The functions do no I/O and read no clock.
namespace curtail::journal {

/// Returns how many bytes of `unread` the next piece takes: as many complete lines as fit into
/// `limit` bytes. If the first line alone is longer, returns `limit`. If `unread` has no complete
/// line and fewer than `limit` bytes, returns 0: the line is still being written.
[[nodiscard]] std::size_t next_cut(std::string_view unread,
                                   std::size_t limit = static_cast<std::size_t>(content_limit));

/// Returns how many bytes `a` and `b` have in common at their begin, in whole lines.
[[nodiscard]] std::size_t common_lines(std::string_view a, std::string_view b);

/// The end of a stream, as its writer knows it.
struct StreamEnd {
    PieceNumber number;            ///< of the newest piece; 0: the stream has none
    std::optional<Digest> digest;  ///< of the newest piece; empty if it is unknown
    std::optional<Tip> good;       ///< the newest piece that is not damaged
};

/// Where a writer goes on.
struct Start {
    std::int64_t from{};           ///< offset in the local file
    bool new_continuation{false};  ///< the local file no longer has the bytes of the newest piece
};

/// Returns the header of the next piece. `content` are the bytes of the local file from
/// `start.from` on. `more` and `clock` are those of the header. `now` is real time.
[[nodiscard]] PieceHeader next_header(StreamEnd const& end, Start const& start,
                                      std::string_view content, bool more,
                                      std::optional<TimeScale> const& clock, Time now);

/// Finds the newest of the objects 1, 2, 3, ..., n, without gaps. Returns 0 if there is none.
/// `exists` tells whether an object exists. `known` is one that exists, or 0: from it on, the
/// search looks at distances 1, 2, 4, ... until an object is missing, and then bisects.
[[nodiscard]] Result<PieceNumber> find_newest(
    std::function<Result<bool>(PieceNumber)> const& exists, PieceNumber known = {});

}  // namespace curtail::journal
