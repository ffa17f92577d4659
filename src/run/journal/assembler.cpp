// SPDX-License-Identifier: Apache-2.0
#include "run/journal/assembler.hpp"

#include <fmt/format.h>

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

}  // namespace

std::string Assembler::contradiction(PieceHeader const& header) const
{
    if (content_.tip) return contradiction_between(*content_.tip, header);
    bool const is_first = header.number.value == 1;
    return is_first && header.previous ? "the first piece must have no predecessor" : "";
}

void Assembler::note(PieceNumber number, std::string const& why)
{
    // A hostile stream must not fill the memory with messages.
    constexpr std::size_t most = 20;
    auto& problems = content_.problems;
    if (problems.size() < most)
        problems.push_back(fmt::format("piece {} of {}: {}", number.value, id_.text(), why));
    else if (problems.size() == most)
        problems.push_back("more pieces of " + id_.text() + " are damaged");
}

void Assembler::add(Piece const& piece)
{
    auto const& header = piece.tip.header;
    content_.newest = header.number;
    if (auto const why = contradiction(header); !why.empty()) {
        note(header.number, why + "; it is left out");
        return;
    }
    content_.text += piece.content;
    ++content_.pieces;
    content_.tip = piece.tip;
}

void Assembler::skip(PieceNumber number, std::string const& why)
{
    content_.newest = number;
    note(number, printable(why));
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
