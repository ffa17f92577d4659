// SPDX-License-Identifier: Apache-2.0
// A member compares a merge that it adopts with the headers that the merge decides.
#include <gmock/gmock.h>

#include "protocol/rules/decided_work.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::HasSubstr;

// C merges a contribution of B. A, which has not trained yet, adopts the merge.
class AdoptedMerge : public ScriptedSiteBesideB {
  protected:
    AdoptedMerge() : ScriptedSiteBesideB(small_run(2000, {{"A"}, {"B"}, {"C"}})) {}
    void SetUp() override
    {
        (void)serve(Tick{});
        Intents intents;
        intents.admit = Admission{{{"B"}, 0xabcdef01}, 1'000'000};
        (void)append({}, intents, from_unix_ms(1'700'000'002'000));
        (void)append({by_b()}, {}, from_unix_ms(1'700'000'003'000));
    }
    // Lets `change` forge the merge. Returns the error with which A exits.
    template <class Change>
    Error adopt(Change change)
    {
        auto forged = newest();
        change(forged);
        objects[commit_name(forged.number)] = encode(forged).bytes;
        return exit_error(serve(Tick{}));
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* load = std::get_if<LoadModel>(&output)) return Loaded{load->op};
        adopts = adopts || std::holds_alternative<Adopt>(output);
        return std::nullopt;
    }

    bool adopts{false};
};

TEST_F(AdoptedMerge, IsAdoptedIfItStatesTheWorkOfTheHeaders)
{
    EXPECT_EQ(adopt([](Commit&) {}).message(), "no error");
    EXPECT_TRUE(adopts);
}

TEST_F(AdoptedMerge, EndsTheProcessIfItStatesOtherSteps)
{
    auto const error = adopt([](Commit& c) {
        ++c.decided[0].steps;
        ++c.totals.steps;
    });
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("another number of steps than contrib/"));
    EXPECT_THAT(error.message(), HasSubstr("curtail-store fork"));
    EXPECT_FALSE(adopts);
}

TEST_F(AdoptedMerge, EndsTheProcessIfItStatesAnotherNorm)
{
    auto const error = adopt([](Commit& c) { c.decided[0].norm = c.norms.back() = 2; });
    EXPECT_THAT(error.message(), HasSubstr("another norm than contrib/"));
}

TEST_F(AdoptedMerge, EndsTheProcessIfItNamesAnotherHeader)
{
    auto const error = adopt([](Commit& c) { c.decided[0].header = sha256("another header"); });
    EXPECT_THAT(error.message(), HasSubstr("another digest than contrib/"));
}

TEST_F(AdoptedMerge, IsAdoptedIfTheStoreHasLostTheHeader)
{
    objects.erase(header_name(b, {1}));
    EXPECT_EQ(adopt([](Commit&) {}).message(), "no error");
    EXPECT_TRUE(adopts);
}

// The model has none of the refused work, so only the digest is compared.
TEST_F(AdoptedMerge, EndsTheProcessIfItRefusesAnotherHeader)
{
    auto const good = by_b();
    auto bad = good;
    bad.bad = Refusal::digest;
    bad.header.seq = good.header.seq.next();
    bad.header.ranges = (newest().find(b)->held - good.header.ranges).lowest(1);
    bad.header.tokens = run.params.block_tokens;
    bad.header.delta->payload.name = delta_name(bad.header.base_round, b, bad.header.seq);
    auto const encoded = encode(bad.header);
    objects[header_name(b, bad.header.seq)] = encoded.bytes;
    bad.sha256 = encoded.sha256;
    (void)append({good, bad}, {}, from_unix_ms(1'700'000'004'000));
    EXPECT_EQ(newest().decided[1].refused, Refusal::digest);
    auto const forge = [&](Commit& c) { c.decided[1].header = sha256("another header"); };
    EXPECT_THAT(adopt(forge).message(),
                HasSubstr("another digest than " + header_name(b, bad.header.seq)));
}

TEST(DecidedWork, IsComparedWithItsHeaderInEachRespect)
{
    Header header;
    header.member = member("B", 3);
    header.seq = {2};
    header.base_round = {4};
    header.ranges = {{0, 2}};
    header.skipped = {{2, 3}};
    header.tokens = Tokens{16};
    header.steps = 2;
    header.delta = {{}, 64.0};
    ContributionDecision const same{.member = header.member,
                                    .seq = header.seq,
                                    .refused = {},
                                    .header = {},
                                    .ranges = header.ranges,
                                    .tokens = header.tokens,
                                    .steps = header.steps,
                                    .skipped = header.skipped,
                                    .staleness = 1,
                                    .norm = 2};
    Commit commit;
    commit.kind = Commit::Kind::merge;
    commit.round = {6};
    auto const difference = [&](auto const& change) {
        auto decision = same;
        auto forged = commit;
        change(decision, forged);
        return differing_work(forged, decision, header);
    };
    using D = ContributionDecision;
    EXPECT_EQ(difference([](D&, Commit&) {}), "");
    EXPECT_EQ(difference([](D& d, Commit&) { d.ranges = {{0, 1}, {5, 6}}; }), "blocks");
    EXPECT_EQ(difference([](D& d, Commit&) { d.skipped = {}; }), "blocks");
    EXPECT_EQ(difference([](D& d, Commit&) { d.tokens = Tokens{8}; }), "number of tokens");
    EXPECT_EQ(difference([](D& d, Commit&) { d.steps = 3; }), "number of steps");
    EXPECT_EQ(difference([](D& d, Commit&) { d.staleness = 0; }), "staleness");
    EXPECT_EQ(difference([](D&, Commit& c) { ++c.round.value; }), "staleness");
    EXPECT_EQ(difference([](D& d, Commit&) { d.norm = 2.5; }), "norm");
    EXPECT_EQ(difference([&](D&, Commit& c) {
                  c.removed = {{header.member, Removal::left}};
              }),
              "flag `leaving`");
    header.leaving = true;
    EXPECT_EQ(difference([](D&, Commit&) {}), "flag `leaving`");
}

}  // namespace
}  // namespace curtail::protocol::test
