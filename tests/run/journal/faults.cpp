// SPDX-License-Identifier: Apache-2.0
// A writer whose store fails in every way, with seeds.
#include <random>

#include "fixture.hpp"
#include "storage/store/posix_store.hpp"

namespace curtail::journal {
namespace {

using testing::IsEmpty;

class Faults : public JournalTest, public testing::WithParamInterface<unsigned> {
  protected:
    // Appends and publishes at random through a faulty store. A new process may begin at any time.
    void disturb(std::shared_ptr<store::ObjectStore> const& inner)
    {
        std::mt19937 random(GetParam());
        auto const faulty = std::make_shared<store::FaultyStore>(*inner, all, GetParam());
        auto same = writer(faulty);
        for (int i = 0; i < 60; ++i) {
            append(lines(written_, static_cast<int>(random() % 4)));
            written_ = static_cast<int>(read_file(file_).value_or("").size() / 20);
            if (random() % 5 == 0) forget_note();
            if (random() % 5 == 0) same = writer(faulty);
            (void)same.publish({});
        }
        faulty->land_delayed();
        EXPECT_GT(faulty->injected(), 20);
    }

    static constexpr store::Faults all{.lost_request = 0.1,
                                       .lost_reply = 0.1,
                                       .delayed_create = 0.1,
                                       .stale_missing = 0.1,
                                       .short_read = 0.05,
                                       .corrupt_read = 0.05,
                                       .unavailable = 0.1,
                                       .no_space = 0.1};
    int written_{0};
};

TEST_P(Faults, NeitherLoseNorRepeatBytesInMemory)
{
    disturb(store_);
    (void)publish();
    EXPECT_EQ(stream().text, lines(0, written_));
    EXPECT_THAT(stream().problems, IsEmpty());
}

TEST_P(Faults, NeitherLoseNorRepeatBytesInAFolder)
{
    auto const folder = folder_ / "store";
    std::shared_ptr<store::ObjectStore> const posix =
        store::PosixStore::open(folder, store::IfMissing::make).value();
    disturb(posix);
    (void)publish(writer(posix));
    auto const read =
        Reader(posix, stream_id.run, Cache({})).read(stream_id.site, stream_id.stream);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->text, lines(0, written_));
    EXPECT_THAT(read->problems, IsEmpty());
}

TEST_P(Faults, OfAReaderNeverAddBytes)
{
    for (int i = 0; i < 20; ++i) {
        append(lines(i, 1));
        (void)publish();
    }
    auto const faulty = std::make_shared<store::FaultyStore>(
        *store_, store::Faults{.stale_missing = 0.2, .short_read = 0.2, .corrupt_read = 0.2},
        GetParam());
    Reader const reader(faulty, stream_id.run, Cache(folder_ / "cache"));
    for (int i = 0; i < 10; ++i) {
        auto const read = reader.read(stream_id.site, stream_id.stream);
        ASSERT_TRUE(read) << read.error().message();
        // A stale answer may hide the newest pieces.
        bool const is_whole = read->problems.empty();
        EXPECT_TRUE(!is_whole || lines(0, 20).starts_with(read->text)) << read->text;
    }
    // What the faulty reader kept is good.
    Reader const good(store_, stream_id.run, Cache(folder_ / "cache"));
    EXPECT_EQ(good.read(stream_id.site, stream_id.stream)->text, lines(0, 20));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Faults, testing::Range(0U, 15U));

using FullStore = JournalTest;

TEST_F(FullStore, IsRetriedUntilItHasSpace)
{
    append(lines(0, 5));
    auto const faulty =
        std::make_shared<store::FaultyStore>(*store_, store::Faults{.no_space = 1}, 1);
    auto same = writer(faulty);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(same.publish({}).error().code, ExitCode::io);
    EXPECT_EQ(stream().pieces, 0);
    faulty->set_faults({});
    append(lines(5, 5));
    EXPECT_EQ(publish(std::move(same)).pieces, 1);
    EXPECT_EQ(stream().text, lines(0, 10));
}

TEST_F(FullStore, AwayForHoursLosesNothing)
{
    auto const faulty =
        std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    auto same = writer(faulty);
    for (int i = 0; i < 200; ++i) {
        append(lines(100 * i, 100, 200));
        EXPECT_EQ(same.publish({}).error().code, ExitCode::temporary);
    }
    faulty->set_faults({});
    EXPECT_EQ(publish(std::move(same)).pieces, 4);
    EXPECT_EQ(stream().text, lines(0, 20'000, 200));
}

}  // namespace
}  // namespace curtail::journal
