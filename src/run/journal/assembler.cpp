// SPDX-License-Identifier: Apache-2.0
#include "run/journal/assembler.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/core/text.hpp"

namespace curtail::journal {

std::optional<Time> StreamContent::published_until() const
{
    if (!tip || tip->header.more || newest != tip->header.number) return std::nullopt;
    return tip->header.time;
}

namespace {

// Explains why a piece of the same continuation does not follow from `last`.
std::string contradiction_in_continuation(PieceHeader const& last, PieceHeader const& header,
                                          bool is_next)
{
    if (header.first != last.first) return "its continuation has another first piece";
    if (header.range.from < last.range.to) return "it repeats bytes of an earlier piece";
    if (is_next && header.range.from > last.range.to) return "it leaves out bytes";
    return "";
}

// Explains why `header` does not follow from `tip`. There may be missing pieces between them.
std::string contradiction_between(Tip const& tip, PieceHeader const& header)
{
    auto const& [last, digest] = tip;
    bool const is_next = header.number == last.number.next();
    if (is_next && header.previous != digest) return "it names another predecessor";
    if (header.continuation == last.continuation)
        return contradiction_in_continuation(last, header, is_next);
    if (header.continuation < last.continuation) return "its continuation has ended before";
    return is_next && header.first != header.number ? "its continuation has no first piece" : "";
}

// Adds up the pieces of a stream.
class Assembler {
  public:
    explicit Assembler(StreamId const& id) : id_(id) {}

    void add(Piece const& piece)
    {
        auto const& header = piece.tip.header;
        content_.newest = header.number;
        if (auto const why = contradiction(header); !why.empty())
            return skip(header.number, why + "; it is left out");
        end_gap(format_time(header.time), publishes_again(header));
        if (!content_.tip) content_.clock = header.clock;
        content_.text += piece.content;
        ++content_.pieces;
        content_.tip = piece.tip;
    }

    void skip(PieceNumber number, std::string why)
    {
        content_.newest = number;
        gap_.emplace_back(number, std::move(why));
    }

    // Notes that a commit names the piece `number`: it fixes all bytes up to its end. Each piece
    // proves the one before it by its digest, so a gap leaves those before it without a proof.
    void fix(PieceNumber number)
    {
        if (!has_gap_ && content_.tip && content_.tip->header.number == number)
            content_.fixed = content_.text.size();
    }

    [[nodiscard]] StreamContent take()
    {
        end_gap("its end", false);
        return std::move(content_);
    }

  private:
    // Explains why `header` does not follow from the last piece. The text is empty if it does.
    [[nodiscard]] std::string contradiction(PieceHeader const& header) const
    {
        // A run has one clock, from its first piece on, or none. Another one would move all lines.
        if (content_.tip && header.clock != content_.clock) return "it names another clock";
        if (content_.tip) return contradiction_between(*content_.tip, header);
        bool const is_first = header.number.value == 1;
        return is_first && header.previous ? "the first piece must have no predecessor" : "";
    }

    // Whether a piece has the lines that a gap before it lacks: its writer found the newest piece
    // damaged.
    [[nodiscard]] bool publishes_again(PieceHeader const& header) const
    {
        auto const end = content_.tip ? content_.tip->header.range.to : 0;
        return header.first == header.number && header.range.from == end;
    }

    // Says which pieces are missing between the last one and the one that ends at `to`.
    void end_gap(std::string const& to, bool is_published_again)
    {
        content_.lacks_lines = content_.lacks_lines || (!gap_.empty() && !is_published_again);
        auto const gap = std::exchange(gap_, {});
        if (gap.empty()) return;
        has_gap_ = true;
        auto const from = content_.tip ? format_time(content_.tip->header.time) : "its begin";
        auto const first = gap.front().first.value;
        auto const last = gap.back().first.value;
        auto const which = first == last ? fmt::format("piece {}", first)
                                         : fmt::format("pieces {} to {}", first, last);
        // A hostile stream must not fill the memory with messages.
        constexpr std::size_t most = 20;
        auto& problems = content_.problems;
        if (problems.size() < most)
            problems.push_back(
                fmt::format("{} of {}, with lines from {} to {}: {}{}", which, id_.text(), from, to,
                            first == last ? "" : "of the first, ", gap.front().second));
        else if (problems.size() == most)
            problems.push_back("more pieces of " + id_.text() + " are damaged");
    }

    StreamId const& id_;
    StreamContent content_;
    std::vector<std::pair<PieceNumber, std::string>> gap_;  // since the last piece
    bool has_gap_{false};                                   // before the last piece
};

// Leaves out the pieces that contradict a commit: each of `pieces` that a commit names
// by another digest,
// and the pieces before it, down to the one that an earlier commit names.
void drop_contradicted(std::vector<PieceOrFault>& pieces, PieceNumber first,
                       NamedPieces const& named)
{
    std::size_t begin = 0;  // after the last piece that a commit names
    for (auto const& [number, as_named] : named) {
        auto const offset = number.value - first.value;
        if (offset < 0) continue;
        if (offset >= std::ssize(pieces)) break;
        auto const at = static_cast<std::size_t>(offset);
        bool const differs = pieces[at] && pieces[at]->tip.digest != as_named.sha256;
        for (auto i = begin; differs && i <= at; ++i)
            if (pieces[i])
                pieces[i] = tl::unexpected(fmt::format(
                    "{} names another piece {}; it does not count", as_named.by, number.value));
        begin = at + 1;
    }
}

}  // namespace

StreamContent assemble(StreamId const& id, PieceNumber first, std::vector<PieceOrFault> pieces,
                       NamedPieces const& named)
{
    drop_contradicted(pieces, first, named);
    Assembler assembler(id);
    PieceNumber number = first;
    for (auto& piece : pieces) {
        if (piece) assembler.add(*piece);
        else assembler.skip(number, printable(piece.error()));
        if (auto const found = named.find(number); found != named.end())
            if (found->second.fixes) assembler.fix(number);
        piece = tl::unexpected(std::string());  // frees its content
        ++number.value;
    }
    auto content = assembler.take();
    if (named.empty() || named.rbegin()->first < number) return content;
    content.lacks_lines = true;
    auto const& [missing, as_named] = *named.rbegin();
    content.problems.push_back(fmt::format(
        "piece {} of {}, with lines from {} on: {} names it, but it is missing", missing.value,
        id.text(), content.tip ? format_time(content.tip->header.time) : "its begin", as_named.by));
    return content;
}

std::optional<std::string_view> unpublished_tail(Tip const& tip, std::string_view local,
                                                 std::int64_t offset)
{
    auto const& range = tip.header.range;
    if (offset > range.from || range.to - offset > std::ssize(local)) return std::nullopt;
    auto const begin = static_cast<std::size_t>(range.from - offset);
    auto const end = static_cast<std::size_t>(range.to - offset);
    if (sha256(local.substr(begin, end - begin)) != tip.header.content) return std::nullopt;
    return local.substr(end);
}

}  // namespace curtail::journal
