// SPDX-License-Identifier: Apache-2.0
#include "fixture.hpp"

#include <filesystem>
#include <stop_token>
#include <string>

namespace curtail::journal {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Writer = JournalTest;

TEST_F(Writer, PublishesTheExactBytesOfTheFile)
{
    append(lines(0, 100));
    EXPECT_EQ(publish().pieces, 1);
    append(lines(100, 50));
    EXPECT_EQ(publish().pieces, 1);
    auto const content = stream();
    EXPECT_EQ(content.text, lines(0, 150));
    EXPECT_THAT(content.problems, IsEmpty());
    EXPECT_EQ(content.published_until(), at(0));
}

TEST_F(Writer, PublishesNothingTwice)
{
    append(lines(0, 10));
    EXPECT_EQ(publish().pieces, 1);
    EXPECT_EQ(publish().pieces, 0);
    forget_note();
    EXPECT_EQ(publish().pieces, 0);
    auto same = writer();
    EXPECT_EQ(same.publish({})->pieces, 0);
    append(lines(10, 1));
    EXPECT_EQ(same.publish({})->pieces, 1);
    EXPECT_EQ(same.publish({})->pieces, 0);
    EXPECT_EQ(stream().text, lines(0, 11));
}

TEST_F(Writer, WaitsForTheEndOfALine)
{
    append("half a li");
    EXPECT_EQ(publish().pieces, 0);
    EXPECT_TRUE(publish().complete);
    append("ne\nand");
    EXPECT_EQ(publish().pieces, 1);
    EXPECT_EQ(stream().text, "half a line\n");
}

TEST_F(Writer, CutsALongFileIntoPieces)
{
    append(lines(0, 30'000, 100));
    EXPECT_EQ(publish().pieces, 3);
    auto const content = stream();
    EXPECT_EQ(content.text, lines(0, 30'000, 100));
    EXPECT_EQ(content.published_until(), at(0));
    EXPECT_THAT(object(1).substr(0, 1000), HasSubstr("\"more\":true"));
    EXPECT_THAT(object(3).substr(0, 1000), HasSubstr("\"more\":false"));
}

TEST_F(Writer, AHoleInTheFileIsNotPublished)
{
    append(lines(0, 3));
    std::filesystem::resize_file(file_, 8 << 20);
    auto hole = writer();
    auto const pass = hole.publish({});
    ASSERT_FALSE(pass);
    EXPECT_EQ(pass.error().code, ExitCode::data);
    EXPECT_THAT(pass.error().message(), HasSubstr("NUL bytes after byte 60"));
    EXPECT_EQ(stream().text, lines(0, 3));
    // The place of a few lines, after a crash of the machine.
    replace(lines(0, 3) + std::string(100'000, '\0') + "\n" + lines(3, 1));
    EXPECT_GT(publish().pieces, 0);
}

TEST_F(Writer, AnEnormousFileIsNotPublished)
{
    append(lines(0, 3));
    std::filesystem::resize_file(file_, std::uintmax_t{1} << 36);
    auto enormous = writer();
    auto const pass = enormous.publish({});
    ASSERT_FALSE(pass);
    EXPECT_EQ(pass.error().code, ExitCode::data);
    EXPECT_EQ(stream().text, "");
}

TEST_F(Writer, CutsALineThatIsLongerThanAPiece)
{
    std::string const line = std::string(2'500'000, 'x') + "\n";
    append(line + "short\n");
    EXPECT_EQ(publish().pieces, 3);
    EXPECT_EQ(stream().text, line + "short\n");
    EXPECT_THAT(stream().problems, IsEmpty());
}

TEST_F(Writer, MissingAndEmptyFilesNeedNoRequest)
{
    auto broken = std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    EXPECT_EQ(publish(writer(broken)).pieces, 0);
    append("");
    EXPECT_EQ(publish(writer(broken)).pieces, 0);
    EXPECT_EQ(broken->injected(), 0);
}

TEST_F(Writer, QuietFileNeedsNoRequest)
{
    append(lines(0, 10));
    (void)publish();
    auto broken = std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    EXPECT_EQ(publish(writer(broken)).pieces, 0);
    EXPECT_EQ(broken->injected(), 0);
}

TEST_F(Writer, NewProcessFindsTheEndOfTheStream)
{
    for (int i = 0; i < 20; ++i) {
        append(lines(i, 1));
        if (i % 3 == 0) forget_note();
        EXPECT_EQ(publish().pieces, 1) << i;
    }
    EXPECT_EQ(stream().text, lines(0, 20));
    EXPECT_EQ(stream().pieces, 20);
}

TEST_F(Writer, TwoWritersOfOneFilePublishEachByteOnce)
{
    auto one = writer();
    auto other = writer();
    for (int i = 0; i < 10; ++i) {
        append(lines(2 * i, 1));
        EXPECT_TRUE((i % 2 == 0 ? one : other).publish({}));
        append(lines(2 * i + 1, 1));
        EXPECT_TRUE((i % 3 == 0 ? one : other).publish({}));
    }
    EXPECT_EQ(stream().text, lines(0, 20));
    EXPECT_THAT(stream().problems, IsEmpty());
}

TEST_F(Writer, OldNoteOnlyCostsRequests)
{
    append(lines(0, 1));
    (void)publish();
    auto const note = read_file(folder_ / "site/metrics.published").value();
    for (int i = 1; i < 10; ++i) {
        append(lines(i, 1));
        (void)publish();
    }
    ASSERT_TRUE(write_file(folder_ / "site/metrics.published", note));
    append(lines(10, 1));
    (void)publish();
    EXPECT_EQ(stream().text, lines(0, 11));
}

TEST_F(Writer, NoteOfAnotherStoreIsIgnored)
{
    append(lines(0, 5));
    (void)publish();
    append(lines(5, 5));
    (void)publish();
    store_ = std::make_shared<store::MemoryStore>();
    append(lines(10, 1));
    (void)publish();
    EXPECT_EQ(stream().text, lines(0, 11));
}

TEST_F(Writer, FileThatLostItsEndGoesOnInANewContinuation)
{
    append(lines(0, 10));
    (void)publish();
    append(lines(10, 10));
    (void)publish();
    replace(lines(0, 13));
    EXPECT_EQ(publish().pieces, 0) << "the stream has all of it";
    append(lines(100, 2));
    EXPECT_EQ(publish().pieces, 1);
    EXPECT_EQ(stream().text, lines(0, 20) + lines(100, 2));
    EXPECT_EQ(stream().tip->header.continuation, 2);
    EXPECT_EQ(stream().tip->header.range.from, 13 * 20);
    append(lines(102, 1));
    forget_note();
    EXPECT_EQ(publish().pieces, 1);
    EXPECT_EQ(stream().text, lines(0, 20) + lines(100, 3));
    EXPECT_EQ(stream().tip->header.continuation, 2);
}

TEST_F(Writer, FileThatLostItsEndTwiceIsNotPublishedTwice)
{
    append(lines(0, 10));
    (void)publish();
    replace(lines(0, 6) + lines(100, 4));
    (void)publish();
    replace(lines(0, 3) + lines(200, 2));
    (void)publish();
    EXPECT_EQ(stream().text, lines(0, 10) + lines(100, 4) + lines(200, 2));
    replace(lines(0, 3) + lines(200, 2) + lines(300, 1));
    (void)publish();
    EXPECT_EQ(stream().text, lines(0, 10) + lines(100, 4) + lines(200, 2) + lines(300, 1));
    EXPECT_THAT(stream().problems, IsEmpty());
    EXPECT_EQ(stream().tip->header.continuation, 3);
}

TEST_F(Writer, FileThatWasRestoredIsNotPublishedTwice)
{
    append(lines(0, 10));
    (void)publish();
    replace(lines(0, 6) + lines(100, 4));
    (void)publish();
    replace(lines(0, 10));
    EXPECT_EQ(publish().pieces, 0);
    append(lines(10, 1));
    EXPECT_EQ(publish().pieces, 1);
    EXPECT_EQ(stream().text, lines(0, 10) + lines(100, 4) + lines(10, 1));
}

TEST_F(Writer, StaleViewOfAShorterFilePublishesNothing)
{
    append(lines(0, 10));
    (void)publish();
    append(lines(10, 1));
    (void)publish();
    replace(lines(0, 10) + "line 1");
    forget_note();
    EXPECT_EQ(publish().pieces, 0);
    EXPECT_EQ(stream().pieces, 2);
}

TEST_F(Writer, NewFileContinuesTheStreamOfALostOne)
{
    append(lines(0, 10));
    (void)publish();
    std::filesystem::remove_all(file_.parent_path());
    append(lines(500, 3));
    now_ = at(300);
    auto const soon = writer().publish({});
    ASSERT_FALSE(soon);
    EXPECT_EQ(soon.error().code, ExitCode::temporary);
    EXPECT_THAT(soon.error().message(), HasSubstr("another folder published"));
    now_ = at(600);
    EXPECT_EQ(publish().pieces, 1);
    append(lines(503, 1));
    (void)publish();
    EXPECT_EQ(stream().text, lines(0, 10) + lines(500, 4));
    EXPECT_EQ(stream().tip->header.continuation, 2);
    EXPECT_EQ(stream().tip->header.first, PieceNumber{2});
}

TEST_F(Writer, FolderWhoseStreamAnotherOneContinuedPublishesNoMore)
{
    append(lines(0, 10));
    auto first = writer();
    ASSERT_TRUE(first.publish({}));
    now_ = at(600);
    auto const elsewhere = folder_ / "elsewhere/metrics.jsonl";
    append_to(elsewhere, lines(500, 3));
    (void)publish(writer_of(elsewhere));
    now_ = at(1200);
    append(lines(10, 1));
    for (int i = 0; i < 3; ++i) {
        auto const refused = first.publish({});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ExitCode::protocol);
        EXPECT_THAT(refused.error().message(), HasSubstr("another folder has continued"));
        if (i == 1) forget_note();
        if (i == 1) first = writer();
    }
    append_to(elsewhere, lines(503, 1));
    (void)publish(writer_of(elsewhere));
    EXPECT_EQ(stream().text, lines(0, 10) + lines(500, 4));
}

TEST_F(Writer, DamagedEndIsPublishedAgain)
{
    append(lines(0, 5));
    (void)publish();
    append(lines(5, 5));
    (void)publish();
    auto bytes = object(2);
    bytes.back() = '?';
    store_object(2, bytes);
    append(lines(10, 2));
    forget_note();
    EXPECT_EQ(publish().pieces, 1);
    auto const content = stream();
    EXPECT_EQ(content.text, lines(0, 12));
    EXPECT_EQ(content.problems.size(), 1U);
    append(lines(12, 2));
    EXPECT_EQ(publish().pieces, 1);
    EXPECT_EQ(stream().text, lines(0, 14));
}

TEST_F(Writer, GarbageInTheNextNameDoesNotEndTheStream)
{
    append(lines(0, 5));
    auto same = writer();
    (void)same.publish({});
    store_object(2, std::string(3'000'000, 'x'));
    append(lines(5, 5));
    auto const pass = same.publish({});
    ASSERT_TRUE(pass) << pass.error().message();
    EXPECT_EQ(stream().text, lines(0, 10));
    EXPECT_EQ(stream().problems.size(), 1U);
}

TEST_F(Writer, OnlyGarbageIsAnError)
{
    for (int i = 1; i <= 9; ++i) store_object(i, "garbage");
    append(lines(0, 5));
    auto const pass = writer().publish({});
    ASSERT_FALSE(pass);
    EXPECT_EQ(pass.error().code, ExitCode::protocol);
}

TEST_F(Writer, StopsWhenItsTimeIsOver)
{
    append(lines(0, 30'000, 100));
    std::stop_source stop;
    stop.request_stop();
    auto const pass = writer().publish({stop.get_token(), {}});
    ASSERT_TRUE(pass);
    EXPECT_EQ(pass->pieces, 0);
    EXPECT_FALSE(pass->complete);
}

}  // namespace
}  // namespace curtail::journal
