// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "fixture.hpp"
#include "support/forwarding_store.hpp"

namespace curtail::journal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Counts the requests that reach a store.
class CountingStore final : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        ++reads;
        return ForwardingStore::read(name, limit, sink, call);
    }
    Result<std::optional<store::ObjectInfo>> stat(store::ObjectName const& name,
                                                  CallLimits const& call) override
    {
        ++stats;
        return ForwardingStore::stat(name, call);
    }
    std::atomic<int> reads{0};
    std::atomic<int> stats{0};
};

class ReaderTest : public JournalTest {
  protected:
    void publish_lines(int first, int count)
    {
        for (int i = first; i < first + count; ++i) {
            append(lines(i, 1));
            (void)publish();
        }
    }
    [[nodiscard]] Result<StreamContent> read(ReadLimits limits = {}) const
    {
        return Reader(counting_, stream_id.run, Cache(folder_ / "cache"), limits)
            .read(stream_id.site, stream_id.stream);
    }
    [[nodiscard]] std::string text() const { return read()->text; }
    void reset() const { counting_->reads = counting_->stats = 0; }

    std::shared_ptr<CountingStore> counting_ = std::make_shared<CountingStore>(*store_);
};

TEST_F(ReaderTest, EmptyStreamHasNoText)
{
    auto const content = read();
    ASSERT_TRUE(content);
    EXPECT_EQ(content->text, "");
    EXPECT_EQ(content->newest, PieceNumber{0});
    EXPECT_FALSE(content->tip);
}

TEST_F(ReaderTest, SecondReadNeedsFewRequests)
{
    publish_lines(0, 100);
    EXPECT_EQ(text(), lines(0, 100));
    EXPECT_EQ(counting_->reads, 100);
    auto const stored = store_->stat(*piece_name(stream_id, {100})).value()->modified;
    reset();
    auto const second = read();
    EXPECT_EQ(second->text, lines(0, 100));
    EXPECT_EQ(second->stored, std::chrono::floor<Seconds>(stored));
    EXPECT_EQ(counting_->reads, 1);
    EXPECT_EQ(counting_->stats, 1);
    publish_lines(100, 5);
    reset();
    EXPECT_EQ(text(), lines(0, 105));
    EXPECT_EQ(counting_->reads, 6) << "the newest piece with a copy, and the new ones";
}

TEST_F(ReaderTest, CopiesOfAnotherRunAreNotUsed)
{
    publish_lines(0, 10);
    EXPECT_EQ(text(), lines(0, 10));
    store_ = std::make_shared<store::MemoryStore>();
    counting_ = std::make_shared<CountingStore>(*store_);
    std::filesystem::remove_all(file_.parent_path());
    publish_lines(50, 3);
    EXPECT_EQ(text(), lines(50, 3));
    EXPECT_THAT(read()->problems, IsEmpty());
    publish_lines(53, 9);
    EXPECT_EQ(text(), lines(50, 12));
}

TEST_F(ReaderTest, DamagedCopyIsReadAgain)
{
    publish_lines(0, 10);
    (void)read();
    for (auto const& entry : std::filesystem::recursive_directory_iterator(folder_ / "cache"))
        if (entry.is_regular_file()) append_to(entry.path(), "x");
    EXPECT_EQ(text(), lines(0, 10));
    EXPECT_THAT(read()->problems, IsEmpty());
}

TEST_F(ReaderTest, CacheIsOptional)
{
    publish_lines(0, 3);
    ASSERT_TRUE(write_file(folder_ / "cache", "a file is in the way"));
    EXPECT_EQ(text(), lines(0, 3));
    EXPECT_EQ(stream().text, lines(0, 3));
}

TEST_F(ReaderTest, DamagedPieceIsNamed)
{
    publish_lines(0, 5);
    auto bytes = object(3);
    bytes.back() = '?';
    store_object(3, bytes);
    auto const content = read();
    ASSERT_TRUE(content);
    EXPECT_EQ(content->text, lines(0, 2) + lines(3, 2));
    EXPECT_THAT(content->problems, ElementsAre(HasSubstr("piece 3 of journal/A/metrics")));
    EXPECT_EQ(content->published_until(), at(0)) << "the newest piece is good";
}

TEST_F(ReaderTest, ReplacedPieceIsNamed)
{
    publish_lines(0, 5);
    auto header = decode(stream_id, {3}, object(3))->tip.header;
    auto const other = lines(77, 1);
    header.content = sha256(other);
    store_object(3, encode(stream_id, header, other));
    EXPECT_EQ(text(), lines(0, 2) + lines(3, 2));
    EXPECT_THAT(read()->problems, ElementsAre(HasSubstr("piece 3")));
}

TEST_F(ReaderTest, PieceOfAnotherSiteIsLeftOut)
{
    publish_lines(0, 2);
    auto const header = decode(stream_id, {2}, object(2))->tip.header;
    store_object(2, encode({{"demo"}, {"B"}, Stream::metrics}, header, lines(1, 1)));
    EXPECT_EQ(text(), lines(0, 1));
    EXPECT_THAT(read()->problems, ElementsAre(HasSubstr("names another site")));
    EXPECT_EQ(read()->published_until(), std::nullopt);
}

TEST_F(ReaderTest, StreamBeyondTheLimitsIsRefused)
{
    publish_lines(0, 20);
    auto const large = read({.bytes = 19L * 20});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, ExitCode::data);
    EXPECT_TRUE(read({.bytes = 20L * 20}));
    EXPECT_FALSE(read({.pieces = 19}));
    EXPECT_TRUE(read({.pieces = 20}));
}

TEST_F(ReaderTest, ErrorOfTheStoreIsReturned)
{
    publish_lines(0, 2);
    auto const away =
        std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    auto const content =
        Reader(away, stream_id.run, Cache({})).read(stream_id.site, stream_id.stream);
    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().code, ExitCode::temporary);
}

}  // namespace
}  // namespace curtail::journal
