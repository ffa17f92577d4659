// SPDX-License-Identifier: Apache-2.0
// Verification detects any damage to an object that the chain refers to and still keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "protocol/chain/chain.hpp"
#include "protocol/chain/small_run.hpp"
#include "support/faulty_store.hpp"
#include "support/forwarding_store.hpp"
#include "support/memory_store.hpp"

namespace curtail::chain {
namespace {

using testing::HasSubstr;

struct Verify : testing::Test {
    store::MemoryStore objects;
    test::SmallRun run{objects};
    Verify()
    {
        run.names_journals = true;
        run.make();
    }

    std::string content(std::string const& name) const
    {
        return std::string(store::text_of(*const_cast<store::MemoryStore&>(objects)
                                               .get(*object_name(run.spec().run, name), {1 << 20})
                                               .value()));
    }
    void put(std::string const& name, std::string const& bytes)
    {
        ASSERT_TRUE(objects.put(*object_name(run.spec().run, name), store::bytes_of(bytes)));
    }
    // The error message of verification, or what is lost; empty: the run is sound and whole.
    std::string finding()
    {
        auto const summary = verify_run({objects, run.spec().run});
        if (summary) {
            std::string lost;
            for (auto const& header : summary->lost) {
                EXPECT_TRUE(header.name.starts_with("contrib/")) << header.name;
                lost += header.name + ": " + header.why;
            }
            return lost;
        }
        EXPECT_EQ(summary.error().code, ExitCode::protocol) << summary.error().message();
        return summary.error().message();
    }
};

TEST_F(Verify, SummarizesASoundRun)
{
    auto const summary = verify_run({objects, run.spec().run});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->commits, 8);
    EXPECT_EQ(summary->merges, 5);
    EXPECT_EQ(summary->lone, 1);
    EXPECT_EQ(summary->averaged, 2);
    EXPECT_EQ(summary->rosters, 2);
    EXPECT_EQ(summary->refused, 1);
    EXPECT_EQ(summary->headers, 7);
    EXPECT_EQ(summary->tip.totals.tokens, Tokens{112});
    EXPECT_EQ(summary->sites.at({"A"}).tokens + summary->sites.at({"B"}).tokens,
              summary->tip.totals.tokens);
}

TEST_F(Verify, DetectsOneFlippedBitAnywhere)
{
    constexpr unsigned seed = 20260111;
    std::mt19937 random(seed);
    auto const names = run.kept();
    ASSERT_GE(names.size(), 20U);
    ASSERT_TRUE(std::any_of(names.begin(), names.end(),
                            [](auto const& name) { return name.ends_with("/m0.h5"); }));
    for (auto const& name : names) {
        auto const good = content(name);
        std::vector<std::size_t> places{0, good.size() / 2, good.size() - 1};
        for (int i = 0; i < 12; ++i) places.push_back(random() % good.size());
        bool const payload = name.ends_with(".h5");
        for (int i = 0; i < 12 && payload; ++i)
            places.push_back(random() % 96);  // HDF5's superblock
        for (auto const place : places) {
            auto bad = good;
            bad[place] = static_cast<char>(bad[place] ^ (1 << (random() % 8)));
            put(name, bad);
            EXPECT_THAT(finding(), HasSubstr(name))
                << "seed " << seed << ", byte " << place << " of " << name;
        }
        put(name, good);
        ASSERT_EQ(finding(), "") << name;
    }
}

// A header that a commit decides names a piece of the journal, so the commit must name it, too.
TEST_F(Verify, DetectsACommitThatFixesAnotherPieceThanItsHeaders)
{
    auto const& tip = run.tip();
    auto const finding_with = [&](auto change) {
        auto commit = tip;
        change(commit);
        put(protocol::commit_name(tip.number), protocol::encode(commit).bytes);
        return finding();
    };
    EXPECT_EQ(finding_with([](protocol::Commit&) {}), "");
    SiteId const writer{"A"};
    SiteId const other{"B"};
    auto const add = [&](SiteId const& site, char const* stream, std::int64_t number) {
        return finding_with([&](protocol::Commit& c) {
            c.heads[site][stream] = {number, sha256("another")};
        });
    };
    EXPECT_EQ(add(writer, "metrics", 1), "") << "the writer may know more than its headers say";
    EXPECT_THAT(add(other, "metrics", 1),
                HasSubstr("names a piece of journal/B/metrics that no header names"));
    EXPECT_THAT(add(other, "trainer", 9),
                HasSubstr("names a piece of journal/B/trainer that no header names"));
    auto const& before = run.chain().at(run.chain().size() - 2);
    EXPECT_THAT(finding_with([&](protocol::Commit& c) { c.heads = before.heads; }),
                HasSubstr("does not name the piece of journal/B/trainer that a header names"));
}

TEST_F(Verify, DetectsTruncatedAndLengthenedObjects)
{
    for (auto const& name : run.kept()) {
        auto const good = content(name);
        for (auto const& bad : {std::string(), good.substr(0, 1), good.substr(0, good.size() / 2),
                                good.substr(0, good.size() - 1), good + "\n", good + good,
                                std::string(300'000, 'x')}) {
            put(name, bad);
            EXPECT_NE(finding(), "")
                << name << " with " << bad.size() << " instead of " << good.size() << " bytes";
        }
        put(name, good);
    }
    EXPECT_EQ(finding(), "");
}

TEST_F(Verify, DetectsAMissingObject)
{
    auto const oldest_kept = run.tip().round.value - run.spec().params.keep_models + 1;
    // Without its newest commit the chain is only shorter. Payloads of rounds older than the kept
    // ones may be deleted at any time. A delta belongs to the round after its base.
    auto const must_stay = [&](std::string const& name) {
        if (!name.ends_with(".h5")) return name != protocol::commit_name(run.tip().number);
        if (name.ends_with("/m0.h5")) return name == run.tip().outer->momentum.name;
        auto const round =
            std::stoll(name.substr(name.find('/') + 1)) + (name.starts_with("deltas/") ? 1 : 0);
        return round >= oldest_kept;
    };
    int found = 0;
    for (auto const& name : run.kept()) {
        auto const good = content(name);
        ASSERT_TRUE(objects.remove(*object_name(run.spec().run, name)));
        EXPECT_EQ(finding().empty(), !must_stay(name)) << name;
        found += must_stay(name) ? 1 : 0;
        put(name, good);
    }
    EXPECT_GE(found, 18);
    EXPECT_EQ(finding(), "");
}

TEST_F(Verify, AnUnreadableHeaderIsLostAndTheChainIsSound)
{
    auto const included = protocol::header_name(run.a(), {2});
    auto const refused = protocol::header_name(run.b(), {3});
    auto const good = content(included);
    for (auto const& bad :
         {good.substr(0, good.size() / 2), std::string(), "x" + good, std::string(300'000, 'x')}) {
        put(included, bad);
        put(refused, bad);
        auto const summary = verify_run({objects, run.spec().run});
        ASSERT_TRUE(summary) << summary.error().message();
        ASSERT_EQ(summary->lost.size(), 2U);
        EXPECT_EQ(summary->lost[0].name, included);
        EXPECT_EQ(summary->lost[1].name, refused);
        EXPECT_EQ(summary->headers, 5);
    }
    // A readable header with other content was not the one that the commit decided.
    auto header = *protocol::decode_header(good, included);
    header.steps += 1;
    put(included, protocol::encode(header).bytes);
    EXPECT_THAT(finding(), HasSubstr("its digest differs from the one in commit 5"));
}

TEST_F(Verify, DetectsSwappedObjects)
{
    auto const names = run.kept();
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::size_t j = i + 1; j < names.size(); ++j) {
            auto const a = content(names[i]);
            auto const b = content(names[j]);
            ASSERT_NE(a, b);
            put(names[i], b);
            put(names[j], a);
            EXPECT_NE(finding(), "") << names[i] << " and " << names[j];
            put(names[i], a);
            put(names[j], b);
        }
    EXPECT_EQ(finding(), "");
}

TEST_F(Verify, NamesAGapInTheChain)
{
    ASSERT_TRUE(objects.remove(*object_name(run.spec().run, "commits/00000003.json")));
    EXPECT_THAT(finding(),
                HasSubstr("commits/00000003.json is missing, but commits/00000008.json exists"));
}

// A store that at first reports some objects as missing, as the cache of a client may.
class LateStore final : public curtail::test::ForwardingStore {
  public:
    LateStore(store::ObjectStore& inner, std::set<store::ObjectName> late)
        : ForwardingStore(inner), late_(std::move(late))
    {
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        if (late_.erase(name) > 0) return false;
        return ForwardingStore::read(name, limit, sink, call);
    }
    Result<std::optional<store::ObjectInfo>> stat(store::ObjectName const& name,
                                                  CallLimits const& call) override
    {
        if (late_.erase(name) > 0) return std::nullopt;
        return ForwardingStore::stat(name, call);
    }

  private:
    std::set<store::ObjectName> late_;
};

TEST_F(Verify, CommitsThatAppearLateAreNoGap)
{
    std::set<store::ObjectName> late;
    for (auto const number : {3, 4, 6})
        late.insert(*object_name(run.spec().run, protocol::commit_name({number})));
    LateStore store(objects, late);
    auto const summary = verify_run({store, run.spec().run});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->commits, 8);
}

TEST_F(Verify, DetectsRecordsOfAnotherRun)
{
    test::SmallRun other(objects, {"other"});
    other.make();
    for (auto const& name : run.kept()) {
        if (name.ends_with(".h5")) continue;
        auto const good = content(name);
        auto const foreign = objects.get(*object_name({"other"}, name), {1 << 20}).value();
        put(name, std::string(store::text_of(*foreign)));
        EXPECT_NE(finding(), "") << name;
        put(name, good);
    }
}

TEST_F(Verify, AListingThatLacksObjectsHidesNoMissingOne)
{
    store::FaultyStore unlisted(objects, {.unlisted = 1}, 1);
    EXPECT_TRUE(verify_run({unlisted, run.spec().run}));
    ASSERT_TRUE(objects.remove(*object_name(run.spec().run, run.tip().model.weights.name)));
    EXPECT_EQ(verify_run({unlisted, run.spec().run}).error().code, ExitCode::protocol);
    EXPECT_EQ(verify_run({objects, run.spec().run}).error().code, ExitCode::protocol);
}

TEST_F(Verify, AStoreThatDoesNotAnswerIsNotADamagedRun)
{
    store::FaultyStore faulty(objects, {.unavailable = 1}, 1);
    EXPECT_EQ(verify_run({faulty, run.spec().run}).error().code, ExitCode::temporary);
}

TEST(VerifyNothing, AMissingRunIsAnError)
{
    store::MemoryStore empty;
    auto const summary = verify_run({empty, {"small"}});
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ExitCode::protocol);
    EXPECT_THAT(summary.error().message(), HasSubstr("run.json"));
}

}  // namespace
}  // namespace curtail::chain
