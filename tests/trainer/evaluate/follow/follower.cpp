// SPDX-License-Identifier: Apache-2.0
// A follower with stores that fail, models that are gone, and predecessors that were killed.
#include "trainer/evaluate/follow/follower.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <limits>

#include "run/journal/reader.hpp"
#include "support/faulty_store.hpp"
#include "support/forwarding_store.hpp"
#include "support/temporary_folder.hpp"
#include "trainer/data/manifest.hpp"
#include "trainer/evaluate/committed_model.hpp"
#include "trainer/evaluate/follow/evaluation_log.hpp"
#include "trainer/evaluate/genesis_run.hpp"
#include "trainer/evaluate/held_out.hpp"

namespace curtail::follow {
namespace {

using runlog::HeldOutLine;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// Requests a stop when the follower has looked for commit 2 the given number of times.
class StopAfterLooks : public test::ForwardingStore {
  public:
    StopAfterLooks(store::ObjectStore& inner, std::stop_source& stop, int looks)
        : ForwardingStore(inner), stop_(stop), looks_(looks)
    {
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        bool const is_look = name.text().ends_with(protocol::commit_name({2}));
        if (is_look && --looks_ == 0) stop_.request_stop();
        return ForwardingStore::read(name, limit, sink, call);
    }

  private:
    std::stop_source& stop_;
    int looks_;
};

// Damages the first two answers that contain commit 1, and the first two that contain commit 2.
class DamagesTwoReads : public test::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        for (std::size_t i = 0; i < left_.size(); ++i) {
            CommitNumber const number{static_cast<std::int64_t>(i) + 1};
            if (!name.text().ends_with(protocol::commit_name(number)) || left_[i] == 0) continue;
            auto const damaged = [&](std::span<std::byte const> bytes, Bytes total) {
                sink(bytes.first(bytes.size() - 1), total);
                --left_[i];
            };
            return ForwardingStore::read(name, limit, damaged, call);
        }
        return ForwardingStore::read(name, limit, sink, call);
    }
    [[nodiscard]] int left() const { return left_[0] + left_[1]; }

  private:
    std::array<int, 2> left_{2, 2};
};

class FollowerTest : public testing::Test {
  protected:
    FollowerTest()
    {
        test::prepare_text(folder_.path());
        make_run({});
    }
    void make_run(protocol::Params const& params)
    {
        stored_.emplace(data::manifest_digest(folder_ / "data").value(), params);
        stored_->run.folder = folder_ / "out";
        stored_->run.data.folder = folder_ / "data";
    }
    void damage(std::string const& payload)
    {
        auto bytes =
            **stored_->objects.get(*chain::object_name(stored_->run.run, payload), Bytes{1 << 24});
        bytes[bytes.size() / 2] ^= std::byte{1};
        stored_->put(payload, bytes);
    }
    // Site A joins, and its first merge completes the run. Returns the name of the last model.
    std::string complete_run()
    {
        auto const& first = stored_->genesis;
        protocol::Process const process{{"A"}, 1};
        auto const member = protocol::member_id(process, {2});
        protocol::Intents intents;
        intents.admit = protocol::Admission{process, 1'000'000'000};
        auto const joined = append(first, {member, 1}, {}, intents);
        protocol::Header header;
        header.run = stored_->run.run;
        header.member = member;
        header.seq = {1};
        header.base_round = joined.round;
        header.ranges = joined.find(member)->held;
        header.tokens = header.ranges.count() * stored_->spec.params.block_tokens;
        header.steps = 1;
        header.rate = 1'000'000'000;
        header.time = joined.time;
        header.delta = {{"d0", protocol::delta_name({1}, member, {1}), 1, sha256("")}, 4};
        auto const merged = append(joined, {member, 2}, {{header, {}, {}}}, {});
        EXPECT_TRUE(merged.complete);
        return merged.model.weights.name;
    }
    // The weights of a merge are those of the first model.
    protocol::Commit append(protocol::Commit const& parent, protocol::CommitWriter const& by,
                            std::vector<protocol::KnownContribution> const& known,
                            protocol::Intents const& intents)
    {
        auto c = protocol::next(stored_->spec, parent, protocol::encode(parent).sha256, by,
                                parent.time + Seconds{1}, known, intents)
                     .value();
        if (c.kind == protocol::Commit::Kind::merge) {
            auto part = stored_->genesis.model.weights;
            part.name = protocol::model_name(c.round, by.member, by.attempt, "w0");
            auto const first = *chain::object_name(stored_->run.run, stored_->payload);
            stored_->put(part.name, **stored_->objects.get(first, Bytes{1 << 24}));
            c.model = {c.round, part};
        }
        stored_->put(protocol::commit_name(c.number), std::string_view(protocol::encode(c).bytes));
        return c;
    }
    // Follows the run until a stop is requested, at the latest after some looks.
    Result<FollowOutcome> follow(store::ObjectStore& store, int looks = 6)
    {
        StopAfterLooks counting(store, stop_, looks);
        Settings settings;
        settings.every = Millis{1};
        settings.on_line = [this](HeldOutLine const& line) { lines_.push_back(line); };
        Log const log([this](Level, std::string_view text) {
            logged_.emplace_back(text);
            if (on_log_) on_log_(text);
        });
        auto end = follow_run(stored_->run, {"A"},
                              std::shared_ptr<store::ObjectStore>(&counting, [](auto*) {}),
                              settings, log, stop_.get_token());
        stop_ = std::stop_source();
        return end;
    }
    Result<FollowOutcome> follow() { return follow(stored_->objects); }
    // Follows the run in a store that is good again from the first retry on.
    void expect_one_retry(store::FaultyStore& faulty)
    {
        on_log_ = [&faulty](std::string_view text) {
            if (text.find("trying again") != text.npos) faulty.set_faults({});
        };
        auto const end = follow(faulty);
        ASSERT_TRUE(end) << end.error().message();
        EXPECT_EQ(*end, FollowOutcome::stopped);
        EXPECT_EQ(published(), lines_);
        EXPECT_EQ(lines_.size(), 1U);
        EXPECT_THAT(logged_, Contains(HasSubstr("(trying again)")).Times(1));
        EXPECT_THAT(logged_, Contains(HasSubstr("can be read again")));
    }
    [[nodiscard]] std::vector<HeldOutLine> published()
    {
        std::shared_ptr<store::ObjectStore> const store(&stored_->objects, [](auto*) {});
        auto const text = journal::Reader(store, stored_->run.run, journal::Cache({}))
                              .read({"A"}, journal::Stream::evaluation)
                              .value()
                              .text;
        return runlog::parse_held_out(text).lines;
    }
    // Removes the first piece of the stream.
    void forget_published()
    {
        journal::StreamId const id{stored_->run.run, {"A"}, journal::Stream::evaluation};
        EXPECT_TRUE(stored_->objects.remove(*journal::piece_name(id, {1})));
    }
    [[nodiscard]] std::filesystem::path file() const
    {
        return journal::local_file(stored_->run, {"A"}, journal::Stream::evaluation);
    }

    test::TemporaryFolder folder_;
    std::optional<test::GenesisRun> stored_;
    std::stop_source stop_;
    std::vector<HeldOutLine> lines_;
    std::vector<std::string> logged_;
    std::function<void(std::string_view)> on_log_;
};

TEST_F(FollowerTest, EvaluatesAModelOnceAndPublishesItsLoss)
{
    ASSERT_EQ(follow().value(), FollowOutcome::stopped);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(published(), lines_);
    auto const& line = lines_[0];
    EXPECT_EQ(line.commit, CommitNumber{1});
    EXPECT_EQ(line.model, stored_->genesis.model.weights.sha256);
    auto stream = data::TokenStream::open(folder_ / "data", data::Split::held_out).value();
    auto const expected = evaluate::held_out_loss(
        model::Gpt(model::initial_parameters(test::small_shape(), 5)), stream);
    EXPECT_EQ(line.loss, expected->loss);
    EXPECT_EQ(line.tokens, expected->tokens);
}

TEST_F(FollowerTest, EvaluatesNothingAgainAfterARestart)
{
    ASSERT_TRUE(follow());
    ASSERT_TRUE(follow());
    EXPECT_EQ(lines_.size(), 1U);
    std::filesystem::remove_all(stored_->run.folder);  // the next process runs in another folder
    ASSERT_TRUE(follow());
    EXPECT_EQ(lines_.size(), 1U);
    EXPECT_EQ(published(), lines_);
}

TEST_F(FollowerTest, PublishesWhatAKilledPredecessorLeft)
{
    ASSERT_TRUE(follow());
    auto const text = read_file(file()).value();
    std::filesystem::remove_all(stored_->run.folder);
    forget_published();
    ASSERT_TRUE(make_folder(file().parent_path()));
    ASSERT_TRUE(write_file(file(), text + "{\"time\":\"2026-11"));
    ASSERT_TRUE(follow());
    EXPECT_EQ(lines_.size(), 1U) << "the cut line belongs to no model";
    EXPECT_EQ(published(), lines_);
}

TEST_F(FollowerTest, WaitsUntilAStoreAnswers)
{
    store::FaultyStore faulty(stored_->objects, {.unavailable = 1}, 1);
    expect_one_retry(faulty);
}

TEST_F(FollowerTest, ReadsADamagedCommitAgain)
{
    store::FaultyStore faulty(stored_->objects, {.corrupt_read = 1}, 1);
    expect_one_retry(faulty);
}

TEST_F(FollowerTest, FailsAfterThreeDamagedReadsInARow)
{
    store::FaultyStore faulty(stored_->objects, {.corrupt_read = 1}, 1);
    auto const end = follow(faulty);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ExitCode::protocol);
    EXPECT_EQ(faulty.injected(), 3);
    EXPECT_THAT(logged_, Contains(HasSubstr("(trying again)")));
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(FollowerTest, CountsDamagedReadsAfreshAfterAGoodOne)
{
    DamagesTwoReads damaging(stored_->objects);
    on_log_ = [&](std::string_view text) {
        if (text.find("evaluating the model of commit 1") != text.npos) complete_run();
    };
    auto const end = follow(damaging, 100);
    ASSERT_TRUE(end) << end.error().message();
    EXPECT_EQ(*end, FollowOutcome::complete);
    EXPECT_EQ(damaging.left(), 0);
    EXPECT_EQ(published(), lines_);
    EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(FollowerTest, WaitsForAModelThatTheRunKeeps)
{
    auto const name = *chain::object_name(stored_->run.run, stored_->payload);
    auto const bytes = **stored_->objects.get(name, Bytes{1 << 24});
    damage(stored_->payload);
    ASSERT_EQ(follow().value(), FollowOutcome::stopped);
    EXPECT_THAT(lines_, IsEmpty());
    EXPECT_THAT(logged_, Contains(HasSubstr("(trying again)")).Times(1));
    EXPECT_THAT(logged_, Contains(HasSubstr("evaluating the model of commit 1")).Times(1));
    ASSERT_TRUE(stored_->objects.remove(name));
    on_log_ = [&](std::string_view text) {
        if (text.find("trying again") != text.npos) stored_->put(stored_->payload, bytes);
    };
    ASSERT_EQ(follow().value(), FollowOutcome::stopped);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_TRUE(lines_[0].loss);
    EXPECT_EQ(published(), lines_);
}

TEST_F(FollowerTest, NotesALostModelOfACompleteRunAfterTheWaitForARepair)
{
    protocol::Params params;
    params.keep_models = 1;
    params.repair_wait = Millis{100};
    make_run(params);
    auto const payload = complete_run();
    damage(payload);
    ASSERT_EQ(follow().value(), FollowOutcome::complete);
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_EQ(lines_[0].commit, CommitNumber{3});
    EXPECT_EQ(lines_[0].missing, runlog::model_damaged);
    EXPECT_THAT(logged_, Contains(HasSubstr("(trying again)")).Times(1));
    std::filesystem::remove_all(stored_->run.folder);
    forget_published();
    ASSERT_TRUE(stored_->objects.remove(*chain::object_name(stored_->run.run, payload)));
    ASSERT_EQ(follow().value(), FollowOutcome::complete);
    ASSERT_EQ(lines_.size(), 2U);
    EXPECT_EQ(lines_[1].missing, runlog::model_deleted);
    EXPECT_EQ(published(), std::vector{lines_[1]});
}

TEST_F(FollowerTest, ALossThatIsNotFiniteIsAbsentFromItsLine)
{
    std::ranges::fill(stored_->weights.values(), std::numeric_limits<float>::quiet_NaN());
    auto const encoded =
        payload::encode(model::payload_layout(stored_->run.run, stored_->run.model), "w0",
                        std::as_const(stored_->weights).values());
    auto const bytes = encoded.pieces();
    stored_->genesis.model.weights.sha256 = sha256_of(bytes);
    stored_->put(stored_->payload, bytes);
    stored_->put(protocol::commit_name({1}),
                 std::string_view(protocol::encode(stored_->genesis).bytes));
    ASSERT_TRUE(follow());
    ASSERT_EQ(lines_.size(), 1U);
    EXPECT_TRUE(lines_[0].is_evaluated());
    EXPECT_FALSE(lines_[0].loss) << *lines_[0].loss;
    EXPECT_EQ(published(), lines_);
}

TEST_F(FollowerTest, SecondFollowerOfASiteIsRefused)
{
    std::shared_ptr<store::ObjectStore> const store(&stored_->objects, [](auto*) {});
    auto const first = EvaluationLog::open(stored_->run, {"A"}, store, {});
    ASSERT_TRUE(first) << first.error().message();
    auto const second = follow();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::temporary);
    EXPECT_THAT(second.error().message(), HasSubstr("cannot follow run small at site A"));
    EXPECT_THAT(second.error().message(), HasSubstr(std::to_string(getpid())));
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(FollowerTest, OtherDataThanThoseOfTheRunAreAnError)
{
    stored_.emplace();
    stored_->run.folder = folder_ / "out";
    stored_->run.data.folder = folder_ / "data";
    auto const refused = follow();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::config);
    EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace curtail::follow
