// SPDX-License-Identifier: Apache-2.0
#include "run/journal/publisher.hpp"

#include "fixture.hpp"
#include "storage/store/lazy_store.hpp"

namespace curtail::journal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PublisherTest : public JournalTest {
  protected:
    PublisherTest()
    {
        run_.run = stream_id.run;
        run_.folder = folder_.path();
    }
    Publisher make(Publisher::Hold hold = Publisher::Hold::always,
                   std::shared_ptr<store::ObjectStore> store = {}, Source source = Source::trainer)
    {
        return {run_, stream_id.site, source, hold, store ? std::move(store) : store_, {}, log_};
    }
    [[nodiscard]] std::string text(Stream stream) const
    {
        return Reader(store_, run_.run, Cache({})).read(stream_id.site, stream)->text;
    }

    config::Run run_;
    std::vector<std::string> logged_;
    Log log_{[this](Level, std::string_view text) { logged_.emplace_back(text); }};
    std::filesystem::path events_{folder_ / "sites/A/events.jsonl"};
    std::filesystem::path metrics_{folder_ / "sites/A/metrics.jsonl"};
};

TEST_F(PublisherTest, PublishesTheStreamsOfItsSource)
{
    append_to(events_, lines(0, 3));
    append_to(metrics_, lines(10, 3));
    append_to(folder_ / "poller/sites/A/events.jsonl", lines(20, 3));
    EXPECT_TRUE(make().publish({}));
    EXPECT_EQ(text(Stream::trainer), lines(0, 3));
    EXPECT_EQ(text(Stream::metrics), lines(10, 3));
    EXPECT_EQ(text(Stream::poller), "");
    EXPECT_THAT(logged_, IsEmpty());
}

TEST_F(PublisherTest, LeavesTheStreamsToTheHolderOfTheLock)
{
    append_to(events_, lines(0, 3));
    auto trainer = make();
    EXPECT_TRUE(trainer.publish({}));
    append_to(events_, lines(3, 3));
    auto poller = make(Publisher::Hold::briefly);
    EXPECT_TRUE(poller.publish({}));
    EXPECT_EQ(text(Stream::trainer), lines(0, 3));
    {
        auto const ended = std::move(trainer);
    }
    EXPECT_TRUE(poller.publish({}));
    EXPECT_EQ(text(Stream::trainer), lines(0, 6));
    append_to(events_, lines(6, 1));
    EXPECT_TRUE(make().publish({})) << "the poller holds the lock only briefly";
    EXPECT_EQ(text(Stream::trainer), lines(0, 7));
}

TEST_F(PublisherTest, AnEvaluatorPublishesBesideARunningTrainer)
{
    append_to(events_, lines(0, 3));
    auto trainer = make();
    EXPECT_TRUE(trainer.publish({}));
    append_to(folder_ / "sites/A/evaluation/evaluation.jsonl", lines(10, 3));
    EXPECT_TRUE(trainer.publish({}));
    EXPECT_EQ(text(Stream::evaluation), "");
    EXPECT_TRUE(make(Publisher::Hold::always, {}, Source::evaluator).publish({}));
    EXPECT_EQ(text(Stream::evaluation), lines(10, 3));
}

TEST_F(PublisherTest, SiteWithoutAFolderNeedsNone)
{
    EXPECT_TRUE(make().publish({}));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "sites"));
}

TEST_F(PublisherTest, LogsTheBeginAndTheEndOfATrouble)
{
    append_to(events_, lines(0, 3));
    auto const faulty =
        std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    auto publisher = make(Publisher::Hold::always, faulty);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(publisher.publish({}));
    faulty->set_faults({});
    EXPECT_TRUE(publisher.publish({}));
    EXPECT_TRUE(publisher.publish({}));
    EXPECT_THAT(logged_, ElementsAre(HasSubstr("does not answer"),
                                     HasSubstr("journal/A/trainer is published again")));
}

TEST_F(PublisherTest, NextProcessDoesNotLogTheSameTroubleAgain)
{
    append_to(events_, lines(0, 3));
    auto const faulty =
        std::make_shared<store::FaultyStore>(*store_, store::Faults{.unavailable = 1}, 1);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(make(Publisher::Hold::always, faulty).publish({}));
    EXPECT_EQ(logged_.size(), 1U);
    auto const kept = trouble_file(run_, stream_id.site, Stream::trainer);
    EXPECT_THAT(read_file(kept).value(), HasSubstr("does not answer"));
    EXPECT_TRUE(make().publish({}));
    EXPECT_EQ(logged_.size(), 2U);
    EXPECT_FALSE(std::filesystem::exists(kept));
}

TEST_F(PublisherTest, OneStreamInTroubleDoesNotStopTheOther)
{
    std::filesystem::create_directories(events_);
    append_to(metrics_, lines(0, 3));
    EXPECT_FALSE(make().publish({}));
    EXPECT_EQ(text(Stream::metrics), lines(0, 3));
    EXPECT_THAT(logged_, ElementsAre(HasSubstr("events.jsonl")));
}

TEST_F(PublisherTest, MissingStoreIsOpenedLater)
{
    auto const folder = folder_ / "store";
    auto const lazy = std::make_shared<store::LazyStore>(store::Address::of_folder(folder));
    append_to(events_, lines(0, 3));
    auto publisher = make(Publisher::Hold::always, lazy);
    EXPECT_FALSE(publisher.publish({}));
    std::filesystem::create_directory(folder);
    EXPECT_TRUE(publisher.publish({}));
    EXPECT_TRUE(std::filesystem::exists(folder / "runs/demo/journal/A/trainer/00000001.jsonl"));
}

}  // namespace
}  // namespace curtail::journal
