// SPDX-License-Identifier: Apache-2.0
#include "run/journal/assembler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"
#include "run/journal/plan.hpp"

namespace curtail::journal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Makes valid pieces, one after the other.
class Chain {
  public:
    Piece next(std::string const& content, std::optional<Start> start = {}, bool more = false)
    {
        auto const from = end_.good ? end_.good->header.range.to : 0;
        auto const header = next_header(end_, start.value_or(Start{from, false}), content, more, {},
                                        at(static_cast<int>(end_.number.value)));
        Piece piece{{header, sha256(encode(stream_id, header, content))}, content};
        end_ = {header.number, piece.tip.digest, piece.tip};
        return piece;
    }

  private:
    StreamEnd end_;
};

StreamContent assemble(std::vector<PieceOrFault> pieces, NamedPieces const& named = {})
{
    return assemble(stream_id, {1}, std::move(pieces), named);
}

PieceOrFault fault(std::string why) { return tl::unexpected(std::move(why)); }

TEST(JournalAssembler, PiecesAddUpToTheLocalFile)
{
    Chain chain;
    auto const content = assemble({chain.next("a\n"), chain.next("b\nc\n"), chain.next("d\n")});
    EXPECT_EQ(content.text, "a\nb\nc\nd\n");
    EXPECT_EQ(content.pieces, 3);
    EXPECT_THAT(content.problems, IsEmpty());
    EXPECT_EQ(content.published_until(), at(2));
}

TEST(JournalAssembler, StreamIsIncompleteIfItsWriterHadMore)
{
    Chain chain;
    EXPECT_EQ(assemble({chain.next("a\n"), chain.next("b\n", {}, true)}).published_until(),
              std::nullopt);
    EXPECT_EQ(assemble({}).published_until(), std::nullopt);
}

TEST(JournalAssembler, ContinuationOfAnotherFileIsAppended)
{
    Chain chain;
    auto const content = assemble({chain.next("a\nb\n"), chain.next("c\n", Start{2, true}),
                                   chain.next("d\n"), chain.next("x\n", Start{0, true})});
    EXPECT_EQ(content.text, "a\nb\nc\nd\nx\n");
    EXPECT_THAT(content.problems, IsEmpty());
    EXPECT_EQ(content.tip->header.continuation, 3);
}

TEST(JournalAssembler, StreamGoesOnAfterADamagedPiece)
{
    Chain chain;
    auto const a = chain.next("a\n");
    (void)chain.next("b\n");
    auto const content = assemble({a, fault("bad \x1b[31m digest"), chain.next("c\n")});
    EXPECT_EQ(content.text, "a\nc\n");
    EXPECT_THAT(content.problems,
                ElementsAre("piece 2 of journal/A/metrics, with lines from " + format_time(at(0)) +
                            " to " + format_time(at(2)) + ": bad \\x1b[31m digest"));
    EXPECT_TRUE(content.lacks_lines);
    EXPECT_TRUE(assemble({a, fault("bad")}).lacks_lines);
    EXPECT_FALSE(assemble({a}).lacks_lines);
}

TEST(JournalAssembler, ANewContinuationMayHaveTheLinesOfADamagedPiece)
{
    for (auto const& [from, lacks_lines] : {std::pair{2, false}, {4, true}, {0, true}}) {
        Chain chain;
        auto const a = chain.next("a\n");
        (void)chain.next("b\n");
        auto again = chain.next("b\n", Start{from, true});
        again.tip.header.previous.reset();
        auto const content = assemble({a, fault("bad"), again});
        EXPECT_EQ(content.text, "a\nb\n") << from;
        EXPECT_EQ(content.lacks_lines, lacks_lines) << from;
        EXPECT_EQ(content.problems.size(), 1U) << from;
    }
}

TEST(JournalAssembler, PieceThatDoesNotFollowIsLeftOut)
{
    struct Case {
        char const* name;
        std::function<void(PieceHeader&)> change;
        char const* why;
    };
    for (auto const& [name, change, why] : std::vector<Case>{
             {"another predecessor", [](PieceHeader& h) { h.previous = sha256("?"); },
              "predecessor"},
             {"no predecessor", [](PieceHeader& h) { h.previous.reset(); }, "predecessor"},
             {"repeated bytes",
              [](PieceHeader& h) {
                  h.range = {1, 3};
              },
              "repeats bytes"},
             {"left out bytes",
              [](PieceHeader& h) {
                  h.range = {3, 5};
              },
              "leaves out bytes"},
             {"another first piece", [](PieceHeader& h) { h.first = {2}; }, "another first piece"},
             {"a continuation without a begin", [](PieceHeader& h) { h.continuation = 2; },
              "no first piece"},
         }) {
        Chain chain;
        auto const first = chain.next("a\n");
        auto second = chain.next("b\n");
        change(second.tip.header);
        auto const content = assemble({first, second});
        EXPECT_EQ(content.text, "a\n") << name;
        EXPECT_EQ(content.published_until(), std::nullopt) << name;
        EXPECT_THAT(content.problems, ElementsAre(HasSubstr(why))) << name;
    }
}

// Another clock would move all lines of the run.
TEST(JournalAssembler, APieceWithAnotherClockThanTheFirstIsLeftOut)
{
    TimeScale const clock{at(0), at(0), 300};
    for (bool const is_replay : {false, true}) {
        Chain chain;
        auto first = chain.next("a\n");
        auto second = chain.next("b\n");
        (is_replay ? first : second).tip.header.clock = clock;
        auto const content = assemble({first, second});
        EXPECT_EQ(content.text, "a\n") << is_replay;
        EXPECT_EQ(content.clock.has_value(), is_replay);
        EXPECT_THAT(content.problems, ElementsAre(HasSubstr("another clock")));
    }
}

TEST(JournalAssembler, OldContinuationDoesNotReturn)
{
    Chain chain;
    auto const first = chain.next("a\n");
    auto const other = chain.next("x\n", Start{0, true});
    auto third = chain.next("y\n");
    third.tip.header.continuation = 1;
    third.tip.header.first = {1};
    EXPECT_EQ(assemble({first, other, third}).text, "a\nx\n");
    third.tip.header.number = {4};
    EXPECT_EQ(assemble({first, other, fault("bad"), third}).text, "a\nx\n");
}

TEST(JournalAssembler, FirstPieceHasNoPredecessor)
{
    Chain chain;
    auto first = chain.next("a\n");
    first.tip.header.previous = sha256("?");
    EXPECT_EQ(assemble({first}).text, "");
}

TEST(JournalAssembler, HostileStreamDoesNotFillTheMemoryWithMessages)
{
    std::vector<PieceOrFault> const bad(10'000, fault("bad"));
    EXPECT_LE(assemble(bad).problems.size(), 21U);
}

TEST(JournalAssembler, ACommitFixesAllPiecesUpToTheOneThatItNames)
{
    Chain chain;
    std::vector<PieceOrFault> const pieces{chain.next("a\n"), chain.next("b\n"), chain.next("c\n")};
    EXPECT_EQ(assemble(pieces).fixed, 0U);
    auto const content = assemble(pieces, {{{2}, {pieces[1]->tip.digest, "commit 7"}}});
    EXPECT_EQ(content.text, "a\nb\nc\n");
    EXPECT_EQ(content.fixed, 4U);
    EXPECT_THAT(content.problems, IsEmpty());
}

// Nothing but the missing piece names the digest of the one before it.
TEST(JournalAssembler, PiecesBeforeAGapAreFixedByAnEarlierCommitOnly)
{
    Chain chain;
    auto const a = chain.next("a\n");
    auto const b = chain.next("b\n");
    (void)chain.next("c\n");
    auto const d = chain.next("d\n");
    NamedPieces named{{{4}, {d.tip.digest, "commit 7"}}};
    auto const gap = [&] { return assemble({a, b, fault("it is missing"), d}, named); };
    EXPECT_EQ(gap().text, "a\nb\nd\n");
    EXPECT_EQ(gap().fixed, 0U);
    named[{1}] = {a.tip.digest, "commit 4"};
    EXPECT_EQ(gap().fixed, 2U);
    named[{2}] = {b.tip.digest, "closing 1", false};
    EXPECT_EQ(gap().fixed, 2U);
}

TEST(JournalAssembler, PiecesThatACommitContradictsDoNotCount)
{
    Chain chain;
    auto const a = chain.next("a\n");
    auto const b = chain.next("b\n");
    auto const c = chain.next("c\n");
    auto const d = chain.next("d\n");
    Chain other;  // the same piece 1, another piece 2, and whatever follows from it
    (void)other.next("a\n");
    std::vector<PieceOrFault> const forged{a, other.next("B\n"), other.next("c\n"),
                                           other.next("d\n")};
    NamedPieces const named{{{1}, {a.tip.digest, "commit 4"}}, {{3}, {c.tip.digest, "commit 5"}}};
    auto const content = assemble(forged, named);
    EXPECT_EQ(content.text, "a\nd\n") << "no commit names a piece after the third";
    EXPECT_EQ(content.fixed, 2U);
    EXPECT_THAT(content.problems,
                ElementsAre(HasSubstr("pieces 2 to 3 of journal/A/metrics, with lines from " +
                                      format_time(at(0)) + " to " + format_time(at(3)) +
                                      ": of the first, commit 5 names another piece 3")));
    EXPECT_EQ(assemble({a, b, c, d}, named).text, "a\nb\nc\nd\n");
}

TEST(JournalAssembler, APieceThatACommitNamesMayNotBeMissing)
{
    Chain chain;
    auto const a = chain.next("a\n");
    auto const b = chain.next("b\n");
    NamedPieces const named{{{1}, {a.tip.digest, "commit 4"}}, {{2}, {b.tip.digest, "commit 5"}}};
    EXPECT_THAT(assemble({a}, named).problems,
                ElementsAre("piece 2 of journal/A/metrics, with lines from " + format_time(at(0)) +
                            " on: commit 5 names it, but it is missing"));
    EXPECT_THAT(assemble({}, named).problems, ElementsAre(HasSubstr("from its begin on")));
    // A damaged piece has one message, even if a commit names it.
    EXPECT_THAT(assemble({a, fault("bad")}, named).problems, ElementsAre(HasSubstr("bad")));
}

TEST(JournalAssembler, LocalFileGivesTheUnpublishedTail)
{
    Chain chain;
    auto const content = assemble({chain.next("a\n"), chain.next("b\n")});
    auto const& tip = *content.tip;
    EXPECT_EQ(unpublished_tail(tip, "a\nb\n", 0), "");
    EXPECT_EQ(unpublished_tail(tip, "a\nb\nc\nd", 0), "c\nd");
    EXPECT_EQ(unpublished_tail(tip, "b\nc\n", 2), "c\n");
    EXPECT_EQ(unpublished_tail(tip, "a\nx\nc\n", 0), std::nullopt) << "another file";
    EXPECT_EQ(unpublished_tail(tip, "a\n", 0), std::nullopt) << "a shorter file";
    EXPECT_EQ(unpublished_tail(tip, "c\n", 4), std::nullopt) << "the piece is not in sight";
}

}  // namespace
}  // namespace curtail::journal
