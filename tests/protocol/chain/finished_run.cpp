// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/records/fixtures.hpp"
#include "simulator/simulator.hpp"
#include "simulator/verify_objects.hpp"

namespace curtail::protocol {
namespace {

using simulator::Simulator;
using test::small_run;
using testing::HasSubstr;

// A complete run of two sites with averaged and lone merges; one site has left.
class FinishedRun : public testing::Test {
  protected:
    FinishedRun()
    {
        auto run = small_run(120, {{"A"}, {"B"}});
        run.params.keep_models = 2;
        s = std::make_unique<Simulator>(run, 5, simulator::Chaos{});
        s->start(0);
        s->run_until(Seconds{5}, [] { return false; });
        s->start(1);
        s->run_until(Seconds{25}, [] { return false; });
        s->stop(1, Seconds{10});
        s->run_until(Seconds{300}, [&] { return s->complete(); });
        s->run_until(s->now() + Seconds{10}, [] { return false; });
    }
    std::unique_ptr<Simulator> s;
};

TEST_F(FinishedRun, IsSummarized)
{
    auto const v = simulator::verify_objects(s->store().source());
    ASSERT_TRUE(v) << v.error().message();
    EXPECT_EQ(v->commits, static_cast<std::int64_t>(s->store().chain().size()));
    EXPECT_EQ(v->commits, 1 + v->merges + v->rosters);
    EXPECT_EQ(v->tip.round.value, 1 + v->merges);
    EXPECT_GE(v->averaged, 2);
    EXPECT_GE(v->lone, 2);
    EXPECT_EQ(v->members, 2);
    EXPECT_EQ(v->refused, 0);
    EXPECT_EQ(v->sites.at({"A"}).tokens + v->sites.at({"B"}).tokens, Tokens{960});
    EXPECT_EQ(v->tip.totals.tokens, Tokens{960});
    EXPECT_GE(v->payloads, 2);
    EXPECT_EQ(s->store().chain().back(), v->tip);
}

TEST_F(FinishedRun, OldModelsAndDeltasAreDeleted)
{
    auto const newest = s->store().chain().back().round.value;
    int models = 0;
    for (auto const& [name, content] : s->store().payloads()) {
        if (name.rfind("models/", 0) == 0) ++models;
        for (auto const* folder : {"models/", "deltas/"})
            if (name.rfind(folder, 0) == 0) {
                EXPECT_GE(std::stoll(name.substr(7)), newest - 3) << name;
            }
    }
    EXPECT_LE(models, 3) << "the two kept ones and one that the next merge deletes";
}

// A flipped bit makes a header unreadable. It is then lost, which is no fault of the chain.
TEST_F(FinishedRun, AnyFlippedBitOfARecordIsReported)
{
    std::mt19937_64 random(1);
    for (auto& [name, bytes] : s->store().small()) {
        if (name.starts_with("probe/") || name.starts_with("merge/") || name.starts_with("status/"))
            continue;
        auto const at = static_cast<std::size_t>(random() % bytes.size());
        auto const bit = static_cast<char>(1 << (random() % 8));
        bytes[at] = static_cast<char>(bytes[at] ^ bit);
        auto const v = simulator::verify_objects(s->store().source());
        if (name.starts_with("contrib/")) {
            ASSERT_TRUE(v) << name << " byte " << at << ": " << v.error().message();
            ASSERT_EQ(v->lost.size(), 1U) << name << " byte " << at;
            EXPECT_EQ(v->lost.front().name, name);
        } else {
            ASSERT_FALSE(v) << name << " byte " << at;
            EXPECT_EQ(v.error().code, ExitCode::protocol);
        }
        bytes[at] = static_cast<char>(bytes[at] ^ bit);
    }
    EXPECT_TRUE(simulator::verify_objects(s->store().source()));
}

TEST_F(FinishedRun, AnyChangedPayloadFails)
{
    std::vector<std::string> names;
    for (auto const& entry : s->store().payloads()) names.push_back(entry.first);
    ASSERT_GE(names.size(), 2U);
    for (auto const& name : names) {
        s->store().damage(name, false);
        auto const v = simulator::verify_objects(s->store().source());
        ASSERT_FALSE(v) << name;
        EXPECT_THAT(v.error().message(), HasSubstr(name));
        s->store().heal();
    }
    EXPECT_TRUE(simulator::verify_objects(s->store().source()));
}

// Changes the header of the first included contribution and updates all later digests. Returns the
// header's name.
std::string forge(std::map<std::string, std::string>& small,
                  std::function<void(Header&)> const& change)
{
    std::string forged;
    Digest parent;
    for (CommitNumber number{1}; small.contains(commit_name(number)); number = number.next()) {
        auto& bytes = small.at(commit_name(number));
        auto commit = decode_commit(bytes, commit_name(number)).value();
        if (!forged.empty()) commit.parent = parent;
        for (auto& d : commit.decided) {
            if (!forged.empty() || !d.header || d.refused || d.ranges.empty()) continue;
            forged = header_name(d.member, d.seq);
            auto header = decode_header(small.at(forged), forged).value();
            change(header);
            auto const encoded = encode(header);
            small.at(forged) = encoded.bytes;
            d.header = encoded.sha256;
        }
        if (forged.empty()) continue;
        auto const encoded = encode(commit);
        bytes = encoded.bytes;
        parent = encoded.sha256;
    }
    return forged;
}

TEST_F(FinishedRun, AHeaderThatContradictsItsCommitFails)
{
    auto& small = s->store().small();
    auto const good = small;
    std::map<std::string, std::function<void(Header&)>> const changes{
        {"nothing", [](Header&) {}},
        {"base", [](Header& h) { h.base_round = {h.base_round.value - 1}; }},
        {"norm", [](Header& h) { h.delta->sumsq *= 2; }},
        {"leaving", [](Header& h) { h.leaving = !h.leaving; }},
        {"run", [](Header& h) { h.run = {"other"}; }},
        {"encoding", [](Header& h) { h.encoding = "fp16"; }},
        {"delta's name", [](Header& h) { h.delta->payload.name = "models/1/x"; }},
        {"not finite", [](Header& h) { h.nonfinite = 1; }},
        {"steps", [](Header& h) { ++h.steps; }},
    };
    for (auto const& [what, change] : changes) {
        auto const name = forge(small, change);
        auto const v = simulator::verify_objects(s->store().source());
        EXPECT_EQ(v.has_value(), what == "nothing") << what;
        if (!v) { EXPECT_THAT(v.error().message(), HasSubstr(name)) << what; }
        small = good;
    }
}

TEST_F(FinishedRun, AMissingModelFailsAndAMissingHeaderIsLost)
{
    auto& small = s->store().small();
    auto const header = std::find_if(small.begin(), small.end(), [](auto const& e) {
        return e.first.rfind("contrib/", 0) == 0;
    });
    ASSERT_NE(header, small.end());
    auto const kept = *header;
    small.erase(header);
    auto const without = simulator::verify_objects(s->store().source());
    ASSERT_TRUE(without) << without.error().message();
    ASSERT_EQ(without->lost.size(), 1U);
    EXPECT_EQ(without->lost.front().name, kept.first);
    small.insert(kept);
    auto source = s->store().source();
    source.payload = [](std::string const&) -> Result<std::optional<chain::PayloadFacts>> {
        return std::nullopt;
    };
    EXPECT_THAT(simulator::verify_objects(source).error().message(), HasSubstr("is missing"));
    source.payload = [](std::string const&) -> Result<std::optional<chain::PayloadFacts>> {
        return fail(ExitCode::io, "cannot read", "disk");
    };
    EXPECT_EQ(simulator::verify_objects(source).error().code, ExitCode::io);
}

TEST(VerifyRecords, AnEmptyStoreFails)
{
    simulator::SimStore const store(small_run());
    auto const v = simulator::verify_objects(store.source());
    ASSERT_FALSE(v);
    EXPECT_THAT(v.error().message(), HasSubstr("run.json"));
}

}  // namespace
}  // namespace curtail::protocol
