// SPDX-License-Identifier: Apache-2.0
#include "run/journal/lost_pieces.hpp"

#include "fixture.hpp"

namespace curtail::journal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LostPiecesTest : public JournalTest {
  protected:
    /// Publishes `count` more pieces of one line each.
    void publish_pieces(int count)
    {
        for (int i = 0; i < count; ++i) {
            append(lines(next_++, 1));
            now_ = at(next_);
            (void)publish();
        }
    }
    [[nodiscard]] std::vector<std::string> objects(int count) const
    {
        std::vector<std::string> all;
        for (int i = 1; i <= count; ++i) all.push_back(object(i));
        return all;
    }
    void lose(int first, int last) const
    {
        for (int i = first; i <= last; ++i)
            ASSERT_TRUE(store_->remove(*piece_name(stream_id, {i})));
    }
    [[nodiscard]] LostPieces restore() const
    {
        auto const done = restore_lost_pieces(StreamObjects(store_, stream_id), file_);
        EXPECT_TRUE(done) << (done ? "" : done.error().message());
        return done.value_or(LostPieces{});
    }
    void expect_whole(std::vector<std::string> const& before) const
    {
        EXPECT_EQ(objects(static_cast<int>(before.size())), before);
        EXPECT_EQ(stream().text, lines(0, next_));
        EXPECT_THAT(stream().problems, IsEmpty());
    }
    int next_{0};
};

TEST_F(LostPiecesTest, ComeBackWithTheNextLines)
{
    publish_pieces(6);
    auto const before = objects(6);
    lose(4, 6);
    publish_pieces(1);
    expect_whole(before);
    EXPECT_EQ(stream().pieces, 7);
}

TEST_F(LostPiecesTest, ComeBackFromALivingProcess)
{
    auto living = writer();
    for (; next_ < 5; ++next_) {
        append(lines(next_, 1));
        EXPECT_EQ(living.publish({})->pieces, 1);
    }
    auto const before = objects(5);
    lose(2, 5);
    append(lines(next_++, 1));
    EXPECT_EQ(living.publish({})->pieces, 1);
    expect_whole(before);
}

TEST_F(LostPiecesTest, InTheMiddleComeBackFromARepair)
{
    publish_pieces(8);
    auto const before = objects(8);
    lose(1, 1);
    lose(4, 5);
    EXPECT_THAT(restore().restored, ElementsAre(PieceNumber{1}, PieceNumber{4}, PieceNumber{5}));
    expect_whole(before);
    EXPECT_THAT(restore().restored, IsEmpty());
}

TEST_F(LostPiecesTest, ComeBackAlsoIfAPartOfTheHeadersIsDamaged)
{
    publish_pieces(2);
    append_to(headers_file(file_), "{\"half an en");
    publish_pieces(2);
    auto const before = objects(4);
    lose(2, 3);
    EXPECT_THAT(restore().restored, ElementsAre(PieceNumber{2}, PieceNumber{3}));
    expect_whole(before);
}

TEST_F(LostPiecesTest, AreNotStoredInAnotherStore)
{
    publish_pieces(5);
    store_ = std::make_shared<store::MemoryStore>();
    publish_pieces(1);
    EXPECT_EQ(stream().pieces, 1);
    EXPECT_EQ(stream().text, lines(0, 6));
    EXPECT_THAT(restore().restored, IsEmpty()) << "these pieces are of an earlier stream";
    lose(1, 1);
    EXPECT_THAT(restore().restored, IsEmpty());
}

TEST_F(LostPiecesTest, AreLostWithTheLinesOfTheLocalFile)
{
    publish_pieces(4);
    replace(lines(0, 2));
    lose(2, 3);
    auto const done = restore();
    EXPECT_THAT(done.restored, ElementsAre(PieceNumber{2}));
    EXPECT_THAT(done.lost, ElementsAre(PieceNumber{3}));
}

TEST_F(LostPiecesTest, NeverMixWithThoseOfAnotherFolder)
{
    publish_pieces(6);
    lose(4, 6);
    store_object(4, "another one");
    auto const before = objects(6);
    EXPECT_THAT(restore().restored, IsEmpty());
    EXPECT_EQ(objects(6), before);
}

TEST_F(LostPiecesTest, ErrorOfTheStoreIsReturned)
{
    publish_pieces(3);
    lose(3, 3);
    auto const broken =
        std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    EXPECT_FALSE(restore_lost_pieces(StreamObjects(broken, stream_id), file_));
    append(lines(next_, 1));
    EXPECT_FALSE(writer(broken).publish({})) << "it must not go on after an older piece";
}

}  // namespace
}  // namespace curtail::journal
