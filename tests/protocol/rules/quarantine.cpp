// SPDX-License-Identifier: Apache-2.0
// Refusals for broken or outlying work, and the quarantine that follows.
#include <gmock/gmock.h>

#include <cmath>

#include "chain.hpp"

namespace curtail::protocol {
namespace {

using test::Chain;
using testing::HasSubstr;

class Guards : public Chain {
  protected:
    Guards() { admit("A"); }
    [[nodiscard]] KnownContribution work(std::int64_t seq, double sumsq = 1)
    {
        auto f = contribution(a, seq, tip.round.value, at(a).held.lowest(1));
        f.header.delta->sumsq = sumsq;
        f.sha256 = encode(f.header).sha256;
        return f;
    }
    [[nodiscard]] KnownContribution broken(std::int64_t seq, Refusal why = Refusal::digest)
    {
        auto f = work(seq);
        f.bad = why;
        return f;
    }
    MemberId const a{test::member("A", 2)};
};

// A guard that refuses work can stop a run: what it refuses never becomes usual.
TEST_F(Guards, ClipADeltaThatIsMuchLongerThanTheOthers)
{
    for (int seq = 1; seq <= 8; ++seq) go({work(seq)});
    go({work(9, 36)});
    EXPECT_FLOAT_EQ(tip.decided[0].scale, 1.0F) << "6 times the median is allowed";
    go({work(10, 12 * 12)});
    EXPECT_FALSE(tip.decided[0].refused);
    EXPECT_FLOAT_EQ(tip.decided[0].scale, 0.5F);
}

TEST_F(Guards, GetUsedToLongDeltas)
{
    for (int seq = 1; seq <= 8; ++seq) go({work(seq)});
    for (int seq = 9; seq <= 24; ++seq) go({work(seq, 100 * 100)});
    EXPECT_FALSE(tip.decided[0].refused);
    EXPECT_FLOAT_EQ(tip.decided[0].scale, 1.0F) << "most of the last ones are as long";
}

TEST_F(Guards, CompareTheFirstDeltasWithEachOther)
{
    go({work(1, 1e12)});
    EXPECT_FLOAT_EQ(tip.decided[0].scale, 1.0F) << "there is no other one";
    go({work(2)});
    go({work(3, 1e12)});
    EXPECT_FLOAT_EQ(tip.decided[0].scale, 1.0F) << "two of three are as long";
}

// A commit before any norm is known: two sites, and one of them sends deltas that are 10^6 times
// too long, however many.
TEST_F(Guards, ClipAMemberWhoseFirstDeltasAreAllTooLong)
{
    admit("B");
    auto const b = test::member("B", 3);
    for (int round = 1; round <= 10; ++round) {
        auto honest = contribution(b, round, tip.round.value, at(b).held.lowest(1));
        auto const long_blocks = at(a).held.lowest(2);
        std::vector<KnownContribution> all{honest};
        for (int part = 0; part < 2; ++part) {
            auto const first = long_blocks.lowest(1);
            auto const blocks = part == 0 ? first : long_blocks - first;
            auto f = contribution(a, 2 * round - 1 + part, tip.round.value, blocks);
            f.header.delta->sumsq = part == 0 ? 4e12 : 1e12;
            f.sha256 = encode(f.header).sha256;
            all.push_back(f);
        }
        auto const before = tip.norms;
        go(all);
        ASSERT_EQ(tip.decided.size(), 3U);
        ASSERT_EQ(tip.norms.size(), before.size() + 2) << "one of each member";
        EXPECT_DOUBLE_EQ(std::max(tip.norms.back(), tip.norms.end()[-2]),
                         1e6 / std::sqrt(static_cast<double>(run.params.block_tokens.value)))
            << "that of its shortest delta";
        for (auto const& d : tip.decided) {
            ASSERT_FALSE(d.refused);
            if (d.member == b) EXPECT_GT(d.scale, 0.1F);
            else EXPECT_LT(d.scale * 1e6F, 6.0F) << "round " << round;
        }
    }
}

TEST_F(Guards, ThreeRefusalsInARowQuarantineTheSite)
{
    go({broken(1)});
    go({broken(2, Refusal::nan)});
    EXPECT_EQ(at(a).refused, 2);
    go({broken(3, Refusal::norm)});
    EXPECT_EQ(tip.find(a), nullptr);
    EXPECT_EQ(tip.removed[0].reason, Removal::quarantined);
    ASSERT_EQ(tip.quarantine.size(), 1U);
    EXPECT_EQ(tip.quarantine[0], (Quarantine{{"A"}, tip.time + Seconds{20}, Refusal::norm}));
    Intents join;
    join.admit = Admission{{{"A"}, 7}, 0};
    EXPECT_FALSE(try_next({}, join));
    now += Seconds{20};
    go({}, join);
    EXPECT_TRUE(tip.quarantine.empty());
}

TEST_F(Guards, AnIncludedContributionClearsTheCount)
{
    go({broken(1)});
    go({broken(2)});
    go({work(3)});
    EXPECT_EQ(at(a).refused, 0);
    go({broken(4)});
    EXPECT_EQ(at(a).refused, 1);
}

TEST_F(Guards, OtherRefusalsDoNotCount)
{
    go({broken(1)});
    go({broken(2, Refusal::stale)});
    EXPECT_EQ(at(a).refused, 1);
}

TEST_F(Guards, ReadersRefuseAnAdmissionDuringTheQuarantine)
{
    for (int seq = 1; seq <= 3; ++seq) go({broken(seq)});
    Intents join;
    join.admit = Admission{{{"A"}, 7}, 0};
    now += Seconds{20};
    auto c = *try_next({}, join);
    c.time = tip.time + Seconds{1};
    c.quarantine = tip.quarantine;
    c.members[0].seen = c.time;
    auto const error = check(run, tip, encode(tip).sha256, c);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("must belong to a site that may enter"));
}

}  // namespace
}  // namespace curtail::protocol
