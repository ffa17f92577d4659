// SPDX-License-Identifier: Apache-2.0
#include "run/journal/site_log.hpp"

#include "fixture.hpp"
#include "run/journal/local_file.hpp"
#include "run/journal/verify.hpp"

namespace curtail::journal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SiteLogTest : public JournalTest {
  protected:
    SiteLogTest()
    {
        run_.run = stream_id.run;
        run_.folder = folder_ / "run";
        file_ = local_file(run_, stream_id.site, stream_id.stream);
    }
    [[nodiscard]] SiteLog read(ReadLimits limits = {}) const
    {
        return LogReader(run_, store_, limits).read(stream_id.site, stream_id.stream).value();
    }
    void publish_lines(int first, int count)
    {
        for (int i = first; i < first + count; ++i) {
            append(lines(i, 1));
            (void)publish();
        }
    }

    config::Run run_;
};

TEST_F(SiteLogTest, WithoutAJournalTheLocalFileCounts)
{
    EXPECT_TRUE(read().is_missing());
    append(lines(0, 3) + "half a line");
    EXPECT_EQ(read().text, lines(0, 3) + "half a line");
    EXPECT_TRUE(read().reaches_local);
    EXPECT_EQ(read().pieces, 0);
    EXPECT_EQ(LogReader(run_, nullptr).read(stream_id.site, stream_id.stream)->text, read().text);
}

TEST_F(SiteLogTest, LocalFileAddsTheUnpublishedLines)
{
    publish_lines(0, 5);
    append(lines(5, 2));
    auto const log = read();
    EXPECT_EQ(log.text, lines(0, 7));
    EXPECT_EQ(log.pieces, 5);
    EXPECT_TRUE(log.reaches_local);
}

TEST_F(SiteLogTest, WithoutALocalFileTheJournalCounts)
{
    publish_lines(0, 5);
    append(lines(5, 2));
    std::filesystem::remove(file_);
    auto const log = read();
    EXPECT_EQ(log.text, lines(0, 5));
    EXPECT_FALSE(log.reaches_local);
    EXPECT_EQ(log.until, at(0));
    EXPECT_TRUE(log.stored);
}

TEST_F(SiteLogTest, AnotherLocalFileAddsNothing)
{
    publish_lines(0, 5);
    replace(lines(100, 9));
    EXPECT_EQ(read().text, lines(0, 5));
    EXPECT_FALSE(read().reaches_local);
}

TEST_F(SiteLogTest, LocalFileReplacesAJournalThatIsDamagedThroughout)
{
    publish_lines(0, 2);
    for (int i : {1, 2}) store_object(i, "garbage");
    EXPECT_EQ(read().text, lines(0, 2));
    EXPECT_EQ(read().problems.size(), 1U) << "one for both pieces";
}

TEST_F(SiteLogTest, StreamBeyondTheLimitsIsAProblemOfItsSiteOnly)
{
    publish_lines(0, 5);
    std::filesystem::remove(file_);
    auto const log = read({.bytes = 50});
    EXPECT_EQ(log.text, "");
    EXPECT_THAT(log.problems, ElementsAre(HasSubstr("it has more than 50 bytes")));
    EXPECT_FALSE(log.is_missing() && log.problems.empty());
}

TEST_F(SiteLogTest, AnEnormousLocalFileIsAnErrorThatNamesIt)
{
    publish_lines(0, 5);
    std::filesystem::resize_file(file_, std::uintmax_t{1} << 36);
    for (auto const& store : {std::shared_ptr<store::ObjectStore>(store_), {}}) {
        auto const log = LogReader(run_, store).read(stream_id.site, stream_id.stream);
        ASSERT_FALSE(log);
        EXPECT_EQ(log.error().code, ExitCode::data);
        EXPECT_THAT(log.error().message(), HasSubstr(file_.string()));
        EXPECT_THAT(log.error().message(), HasSubstr("68719476736 bytes"));
    }
}

using Verify = SiteLogTest;

TEST_F(Verify, CountsWhatIsPublished)
{
    publish_lines(0, 5);
    Reader const reader(store_, run_.run, Cache({}));
    auto const summary = verify_journals(reader, {{"A"}, {"B"}});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->sites, 1);
    EXPECT_EQ(summary->streams, 1);
    EXPECT_EQ(summary->pieces, 5);
    EXPECT_EQ(summary->bytes, 100);
}

TEST_F(Verify, NamesTheFirstFault)
{
    publish_lines(0, 5);
    ASSERT_TRUE(store_->remove(*piece_name(stream_id, {2})));
    Reader const reader(store_, run_.run, Cache({}));
    // The search for the newest piece may end at the gap.
    auto const gap = verify_journals(reader, {{"A"}});
    EXPECT_TRUE(!gap || gap->pieces == 1);
    store_object(2, "garbage");
    auto const summary = verify_journals(reader, {{"A"}});
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ExitCode::protocol);
    EXPECT_THAT(summary.error().message(), HasSubstr("piece 2 of journal/A/metrics"));
}

}  // namespace
}  // namespace curtail::journal
