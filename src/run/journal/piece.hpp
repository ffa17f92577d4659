// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.hpp"
#include "base/core/digest.hpp"
#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "base/core/result.hpp"
#include "storage/store/object_name.hpp"

// A site publishes its logs in the store, in pieces (docs/formats-journal.md). This file describes
// one piece. The functions do no I/O and read no clock.
namespace curtail::journal {

/// The streams of a site. Each is the published copy of one local file.
enum class Stream {
    poller,     ///< the poller's events about the site
    signals,    ///< the samples with which the poller evaluated the site's window
    trainer,    ///< the trainer's events
    metrics,    ///< the trainer's metrics
    evaluation  ///< held-out loss of the run's models, from `curtail-model evaluate --follow`
};
inline constexpr std::array all_streams{Stream::poller, Stream::signals, Stream::trainer,
                                        Stream::metrics, Stream::evaluation};
/// Returns the stream's name in the store, such as `metrics`.
[[nodiscard]] char const* name(Stream stream);

/// One stream of one site.
struct StreamId {
    RunId run;
    SiteId site;
    Stream stream{Stream::poller};
    /// Returns `journal/<site>/<stream>`, for people.
    [[nodiscard]] std::string text() const;
};

/// The number of a piece in its stream: 1, 2, 3, ...
using PieceNumber = Ordinal<struct PieceTag>;
/// The greatest number that a name can have.
inline constexpr PieceNumber last_piece{99'999'999};

/// Returns the name of a piece in the store. Fails with `protocol` if the number is out of range.
[[nodiscard]] Result<store::ObjectName> piece_name(StreamId const& id, PieceNumber number);

/// The greatest number of bytes of the local file in one piece.
inline constexpr std::int64_t content_limit{std::int64_t{1} << 20};
/// The greatest size of a header line, with its newline.
inline constexpr std::int64_t header_limit{4096};

/// Bytes `from` up to and excluding `to` of a file.
struct ByteRange {
    std::int64_t from{};
    std::int64_t to{};
    [[nodiscard]] std::int64_t size() const { return to - from; }
    friend bool operator==(ByteRange const&, ByteRange const&) = default;
};

/// The first line of a piece. The rest of the piece is `range` of the local file.
///
/// If the local file is replaced or loses its end, the writer begins a new continuation of the
/// stream. In a continuation, each piece begins where the one before it ends.
struct PieceHeader {
    PieceNumber number;
    std::int64_t continuation{1};  ///< 1, 2, 3, ...
    PieceNumber first;             ///< the continuation's first piece
    ByteRange range;
    Digest content;  ///< of the bytes in `range`
    /// Digest of the piece before, with its header. Empty: this is the first piece, or its writer
    /// could not read the piece before.
    std::optional<Digest> previous;
    Time time;         ///< real time at which the writer read the local file
    bool more{false};  ///< at that time, the local file had complete lines after `range`
    std::optional<TimeScale> clock{};  ///< the signal's clock of a replay
    friend bool operator==(PieceHeader const&, PieceHeader const&) = default;
};

/// What the successor of a piece must know about it.
struct Tip {
    PieceHeader header;
    Digest digest;  ///< of the whole piece
    friend bool operator==(Tip const&, Tip const&) = default;
};

/// A piece as it was read from the store.
struct Piece {
    Tip tip;
    std::string content;
};

/// Returns the bytes of a piece.
[[nodiscard]] std::string encode(StreamId const& id, PieceHeader const& header,
                                 std::string_view content);
/// Reads a piece. Fails with `protocol` if it is damaged, too long, or belongs to another stream or
/// number. The input may be hostile.
[[nodiscard]] Result<Piece> decode(StreamId const& id, PieceNumber number, std::string_view bytes);

/// Returns the clock of a replay as a piece's header has it; null for none.
[[nodiscard]] json::Value clock_json(std::optional<TimeScale> const& clock);

/// Writes a tip as text, for a local file.
[[nodiscard]] std::string encode_tip(StreamId const& id, Tip const& tip);
/// Reads what encode_tip() writes. Returns an empty optional for any other text, and for the tip of
/// another stream.
[[nodiscard]] std::optional<Tip> decode_tip(StreamId const& id, std::string_view text);

}  // namespace curtail::journal
