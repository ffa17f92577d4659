// SPDX-License-Identifier: Apache-2.0
// Copies of a run between stores of each type, interrupted at any point.
#include "operate/copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operate/ending_store.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "protocol/records/names.hpp"
#include "run/journal/piece.hpp"
#include "support/each_store.hpp"
#include "support/faulty_store.hpp"
#include "support/forwarding_store.hpp"

namespace curtail::operate {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

// All objects of a store, with their content.
std::map<std::string, std::string> contents(store::ObjectStore& store)
{
    std::map<std::string, std::string> all;
    auto const listing = store.list_all(*store::ObjectFolder::parse("runs")).value();
    for (auto const& object : listing)
        all[object.name] = std::string(
            store::text_of(*store.get(*store::ObjectName::parse(object.name), {1 << 24}).value()));
    return all;
}

class CopyBetween : public curtail::test::EachStore {
  protected:
    CopyBetween() : from_(new_store()), to_(new_store()), run_(*from_) { run_.make(); }
    std::unique_ptr<store::ObjectStore> from_;
    std::unique_ptr<store::ObjectStore> to_;
    chain::test::SmallRun run_;
};

TEST_P(CopyBetween, ACopyVerifiesAndHasTheSameBytes)
{
    auto const copied = copy_run({*from_, run_.spec().run}, *to_);
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_EQ(copied->newest, run_.tip().number);
    EXPECT_EQ(copied->commits, std::ssize(run_.chain()));
    EXPECT_EQ(copied->found, 0);
    EXPECT_EQ(copied->written, copied->commits + copied->headers + copied->payloads + 1);
    EXPECT_FALSE(copied->source_has_grown);
    auto const original = chain::verify_run({*from_, run_.spec().run}).value();
    auto const verified = chain::verify_run({*to_, run_.spec().run});
    ASSERT_TRUE(verified) << verified.error().message();
    EXPECT_EQ(verified->headers, original.headers);
    auto const source = contents(*from_);
    EXPECT_THAT(source, IsSupersetOf(contents(*to_)));
    EXPECT_GE(contents(*to_).size(), 20U);
    auto const pending = protocol::header_name(run_.a(), {5});
    EXPECT_EQ(contents(*to_).count("runs/small/" + pending), 1U);
    EXPECT_EQ(contents(*to_).count("runs/small/" + protocol::lease_name(run_.tip().round, 1)), 0U);
}

TEST_P(CopyBetween, ASecondCopyWritesNothing)
{
    auto const first = copy_run({*from_, run_.spec().run}, *to_).value();
    auto const second = copy_run({*from_, run_.spec().run}, *to_).value();
    EXPECT_EQ(second.written, 0);
    EXPECT_EQ(second.bytes, Bytes{0});
    EXPECT_EQ(second.found, first.written);
}

TEST_P(CopyBetween, ADamagedPayloadInTheCopyIsReplaced)
{
    (void)copy_run({*from_, run_.spec().run}, *to_).value();
    auto const& part = run_.tip().model.weights;
    auto const name = *chain::object_name(run_.spec().run, part.name);
    auto content = to_->get(name, {1 << 20}).value().value();
    content[100] ^= std::byte{1};
    ASSERT_TRUE(to_->put(name, content));
    EXPECT_EQ(copy_run({*from_, run_.spec().run}, *to_)->written, 1);
    EXPECT_TRUE(chain::verify_run({*to_, run_.spec().run}));
}

INSTANTIATE_TEST_SUITE_P(Each, CopyBetween, curtail::test::every_store,
                         curtail::test::name_of_store);

class Copy : public testing::Test {
  protected:
    Copy() { run.make(); }
    [[nodiscard]] chain::RunObjects source() { return {from, run.spec().run}; }
    [[nodiscard]] chain::RunObjects copy() { return {to, run.spec().run}; }
    store::ObjectName object(std::string const& name) const
    {
        return *chain::object_name(run.spec().run, name);
    }
    store::MemoryStore from;
    store::MemoryStore to;
    chain::test::SmallRun run{from};
};

// Every record in `to` finds what it names, and run.json comes after everything else.
void expect_no_wrong_run(chain::RunObjects const& to, std::vector<protocol::Commit> const& chain,
                         std::map<std::string, std::string> const& whole)
{
    auto const there = contents(to.store());
    auto const has = [&](std::string const& name) { return there.count("runs/small/" + name) > 0; };
    auto const must_have = [&](std::string const& name) {
        return whole.count("runs/small/" + name) > 0;
    };
    EXPECT_EQ(has("run.json"), there == whole);
    EXPECT_EQ(chain::verify_run(to).has_value(), there == whole);
    for (auto const& commit : chain) {
        if (!has(protocol::commit_name(commit.number))) continue;
        if (commit.number.value > 1) {
            EXPECT_TRUE(has(protocol::commit_name({commit.number.value - 1})));
        }
        auto const& model = commit.model.weights.name;
        EXPECT_EQ(has(model), must_have(model)) << model;
        for (auto const& d : commit.decided)
            if (d.header) { EXPECT_TRUE(has(protocol::header_name(d.member, d.seq))); }
    }
    for (auto const& [name, bytes] : there) {
        if (name.find("/contrib/") == name.npos) continue;
        auto const header =
            protocol::decode_header(bytes, name.substr(std::string_view("runs/small/").size()));
        ASSERT_TRUE(header) << name;
        if (!header->delta) continue;
        auto const& delta = header->delta->payload.name;
        EXPECT_EQ(has(delta), must_have(delta)) << delta;
    }
}

TEST_F(Copy, EndedAfterAnyWriteIsNoWrongRunAndCanBeResumed)
{
    store::MemoryStore finished;
    (void)copy_run(source(), finished).value();
    auto const whole = contents(finished);
    int ended = 0;
    for (int writes = 0;; ++writes) {
        store::MemoryStore partial;
        test::EndingStore ending(partial, writes);
        bool const complete = copy_run(source(), ending).has_value();
        chain::RunObjects const objects{partial, run.spec().run};
        expect_no_wrong_run(objects, run.chain(), whole);
        auto const resumed = copy_run(source(), partial);
        ASSERT_TRUE(resumed) << resumed.error().message();
        EXPECT_EQ(resumed->found, writes < std::ssize(whole) ? writes : std::ssize(whole));
        EXPECT_EQ(contents(partial), whole);
        if (complete) break;
        ++ended;
    }
    EXPECT_EQ(ended, std::ssize(whole));
}

TEST_F(Copy, FollowsAChainThatHasGrown)
{
    store::MemoryStore lone_from;
    chain::test::SmallRun lone(lone_from, {"small"}, 400);
    lone.make_lone(20);
    (void)copy_run({lone_from, {"small"}}, to).value();
    for (int more = 0; more < 30; ++more) lone.continue_lone();
    auto const second = copy_run({lone_from, {"small"}}, to);
    ASSERT_TRUE(second) << second.error().message();
    EXPECT_EQ(second->newest.value, 50);
    EXPECT_EQ(chain::read_chain(copy(), chain::Check::rules).value(), lone.chain());
    EXPECT_TRUE(chain::verify_run(copy()));
}

TEST_F(Copy, IntoAnotherRunOfTheSameNameWritesNothing)
{
    chain::test::SmallRun other(to, {"small"}, 99);
    other.make_lone(5);
    auto const before = contents(to);
    auto const copied = copy_run(source(), to);
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().code, ExitCode::protocol);
    EXPECT_THAT(copied.error().message(), HasSubstr("run.json in the destination differs"));
    EXPECT_EQ(contents(to), before);
}

TEST_F(Copy, IntoACopyWithWhichSitesHaveTrainedIsRefused)
{
    (void)copy_run(source(), to).value();
    auto const newest = protocol::commit_name(run.tip().number);
    auto commit = run.tip();
    commit.by.attempt += 1;
    ASSERT_TRUE(to.put(object(newest), store::bytes_of(protocol::encode(commit).bytes)));
    auto const before = contents(to);
    EXPECT_THAT(copy_run(source(), to).error().message(), HasSubstr(newest));
    auto next = run.tip();
    next.number = next.number.next();
    ASSERT_TRUE(to.put(object(newest), store::bytes_of(protocol::encode(run.tip()).bytes)));
    ASSERT_TRUE(to.put(object(protocol::commit_name(next.number)),
                       store::bytes_of(protocol::encode(next).bytes)));
    EXPECT_THAT(copy_run(source(), to).error().message(), HasSubstr("the source ends with 8"));
    EXPECT_EQ(contents(to).size(), before.size() + 1);
}

TEST_F(Copy, NeverReplacesARecord)
{
    (void)copy_run(source(), to).value();
    for (auto const& name : {protocol::commit_name({5}), protocol::header_name(run.a(), {2}),
                             std::string("run.json")}) {
        auto const good = to.get(object(name), {1 << 20}).value().value();
        ASSERT_TRUE(to.put(object(name), store::bytes_of("{}")));
        auto const copied = copy_run(source(), to);
        ASSERT_FALSE(copied) << name;
        EXPECT_EQ(copied.error().code, ExitCode::protocol);
        EXPECT_THAT(copied.error().message(), HasSubstr(name));
        EXPECT_EQ(store::text_of(*to.get(object(name), {1 << 20}).value()), "{}");
        ASSERT_TRUE(to.put(object(name), good));
    }
}

TEST_F(Copy, OfADamagedSourceIsRefused)
{
    for (auto const& name : run.kept()) {
        auto const good = from.get(object(name), {1 << 20}).value().value();
        auto bad = good;
        bad[bad.size() / 2] ^= std::byte{1};
        ASSERT_TRUE(from.put(object(name), bad));
        store::MemoryStore fresh;
        auto const copied = copy_run(source(), fresh);
        // What the run no longer keeps is not copied, so it cannot be damaged.
        if (copied) {
            EXPECT_TRUE(name.ends_with(".h5")) << name;
            EXPECT_TRUE(chain::verify_run({fresh, run.spec().run})) << name;
        } else {
            EXPECT_EQ(copied.error().code, ExitCode::protocol) << name;
            EXPECT_EQ(contents(fresh).count("runs/small/run.json"), 0U) << name;
        }
        ASSERT_TRUE(from.put(object(name), good));
    }
    ASSERT_TRUE(from.remove(object(run.tip().model.weights.name)));
    EXPECT_EQ(copy_run(source(), to).error().code, ExitCode::protocol);
}

TEST_F(Copy, APendingDeltaThatTheSourceLacksIsLeftOut)
{
    ASSERT_TRUE(from.remove(object(protocol::delta_name({6}, run.a(), {5}))));
    auto const copied = copy_run(source(), to);
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_EQ(copied->left_out, 1);
    EXPECT_TRUE(chain::verify_run(copy()));
}

// Pieces 1 to `count` of a stream, each with one line.
void publish(store::ObjectStore& store, journal::StreamId const& id, std::int64_t count,
             std::string const& line)
{
    journal::PieceHeader header;
    for (std::int64_t n = 1; n <= count; ++n) {
        header.number = {n};
        header.first = {1};
        header.range = {header.range.to, header.range.to + std::ssize(line)};
        header.content = sha256(line);
        auto const bytes = journal::encode(id, header, line);
        header.previous = sha256(bytes);
        ASSERT_EQ(store.create(*journal::piece_name(id, header.number), store::bytes_of(bytes)),
                  store::CreateOutcome::created);
    }
}

TEST_F(Copy, ContainsTheJournals)
{
    journal::StreamId const trainer{run.spec().run, {"A"}, journal::Stream::trainer};
    journal::StreamId const poller{run.spec().run, {"B"}, journal::Stream::poller};
    publish(from, trainer, 3, "{}\n");
    journal::StreamId const evaluation{run.spec().run, {"B"}, journal::Stream::evaluation};
    publish(from, poller, 1, "{\"a\":1}\n");
    publish(from, evaluation, 1, "{\"commit\":1}\n");
    auto const copied = copy_run(source(), to);
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_EQ(copied->pieces, 5);
    EXPECT_EQ(copied->damaged_pieces, 0);
    EXPECT_EQ(copied->written,
              copied->commits + copied->headers + copied->payloads + copied->pieces + 1);
    EXPECT_THAT(contents(from), IsSupersetOf(contents(to)));
    EXPECT_EQ(copy_run(source(), to)->written, 0);
    // A damaged piece of the copy is replaced; a sound one with other lines is not.
    auto const second = *journal::piece_name(trainer, {2});
    auto const good = to.get(second, {1 << 20}).value().value();
    ASSERT_TRUE(to.put(second, store::bytes_of("damaged")));
    EXPECT_EQ(copy_run(source(), to)->written, 1);
    EXPECT_EQ(to.get(second, {1 << 20}).value().value(), good);
    journal::StreamId const metrics{run.spec().run, {"A"}, journal::Stream::metrics};
    publish(from, metrics, 1, "{}\n");
    publish(to, metrics, 1, "[]\n");
    auto const refused = copy_run(source(), to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::protocol);
    EXPECT_THAT(refused.error().message(), HasSubstr("another piece 1 of journal/A/metrics"));
}

// The copy of a run that goes on has the closings whose commit it has.
TEST_F(Copy, ContainsTheClosingsOfItsCommits)
{
    auto const close = [&](std::int64_t number, CommitNumber commit) {
        protocol::Closing closing{run.spec().run, {"A"}, number, {}, {}, Time{}};
        closing.commit = protocol::CommitRef{commit, sha256("commit")};
        auto const name = protocol::closing_name({"A"}, number);
        ASSERT_TRUE(from.put(*chain::object_name(run.spec().run, name),
                             store::bytes_of(protocol::encode(closing).bytes)));
    };
    close(1, {2});
    close(2, {run.tip().number.value + 1});
    ASSERT_TRUE(copy_run(source(), to));
    auto const has = [&](std::int64_t number) {
        return contents(to).count("runs/small/" + protocol::closing_name({"A"}, number)) > 0;
    };
    EXPECT_TRUE(has(1));
    EXPECT_FALSE(has(2));
    close(1, {1});
    auto const refused = copy_run(source(), to);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("another closing/A/1.json"));
}

TEST_F(Copy, OfADamagedJournalSaysSoAndGoesOn)
{
    journal::StreamId const trainer{run.spec().run, {"A"}, journal::Stream::trainer};
    publish(from, trainer, 3, "{}\n");
    ASSERT_TRUE(from.put(*journal::piece_name(trainer, {2}), store::bytes_of("damaged")));
    auto const copied = copy_run(source(), to);
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_EQ(copied->pieces, 3);
    EXPECT_EQ(copied->damaged_pieces, 1);
}

TEST_F(Copy, OfARunThatIsNotThereIsAnError)
{
    EXPECT_EQ(copy_run({from, {"none"}}, to).error().code, ExitCode::no_input);
    EXPECT_TRUE(to.names().empty());
}

TEST_F(Copy, SurvivesFaultsOfBothStores)
{
    int copies = 0;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        store::MemoryStore fresh;
        store::FaultyStore bad_from(
            from, {.stale_missing = 0.01, .corrupt_read = 0.01, .unavailable = 0.01}, seed);
        store::FaultyStore bad_to(fresh,
                                  {.lost_request = 0.02,
                                   .lost_reply = 0.02,
                                   .delayed_create = 0.02,
                                   .stale_missing = 0.02,
                                   .corrupt_read = 0.02,
                                   .unavailable = 0.02},
                                  seed);
        for (int attempt = 0; attempt < 200; ++attempt) {
            auto const copied = copy_run({bad_from, run.spec().run}, bad_to);
            if (!copied) continue;
            ++copies;
            break;
        }
        bad_to.land_delayed();
        ASSERT_TRUE(chain::verify_run({fresh, run.spec().run})) << seed;
    }
    EXPECT_EQ(copies, 25);
}

TEST_F(Copy, WhileSitesTrainCopiesTheirNewestState)
{
    // Once the chain was read, a site commits, and deletes the model that was kept until then.
    class Training final : public curtail::test::ForwardingStore {
      public:
        Training(store::ObjectStore& inner, chain::test::SmallRun& run)
            : ForwardingStore(inner), inner_(inner), run_(run)
        {
        }
        Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                          CallLimits const& call) override
        {
            if (name.text().ends_with(".h5") && !trained_) {
                trained_ = true;
                auto const old = run_.chain().at(run_.chain().size() - 2).model.weights.name;
                run_.continue_lone();
                run_.continue_lone();
                (void)inner_.remove(*chain::object_name(run_.spec().run, old));
            }
            return ForwardingStore::read(name, limit, sink, call);
        }

      private:
        store::ObjectStore& inner_;
        chain::test::SmallRun& run_;
        bool trained_{false};
    };
    store::MemoryStore lone_from;
    chain::test::SmallRun lone(lone_from, {"small"}, 400);
    lone.make_lone(20);
    Training training(lone_from, lone);
    auto const copied = copy_run({training, {"small"}}, to);
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_EQ(copied->newest.value, 22);
    EXPECT_TRUE(chain::verify_run(copy()));
}

TEST_F(Copy, SaysThatTheSourceHasGrown)
{
    store::MemoryStore lone_from;
    chain::test::SmallRun lone(lone_from, {"small"}, 400);
    lone.make_lone(20);
    bool grown = false;
    auto const copied = copy_run({lone_from, {"small"}}, to, [&](CopyProgress const&) {
        if (!grown) lone.continue_lone();
        grown = true;
    });
    ASSERT_TRUE(copied) << copied.error().message();
    EXPECT_TRUE(copied->source_has_grown);
    EXPECT_EQ(copied->newest.value, 20);
}

}  // namespace
}  // namespace curtail::operate
