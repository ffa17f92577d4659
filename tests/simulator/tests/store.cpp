// SPDX-License-Identifier: Apache-2.0
// The simulated store refuses what breaks an invariant.
#include "simulator/store.hpp"

#include <gtest/gtest.h>

#include "protocol/records/fixtures.hpp"
#include "protocol/rules/next.hpp"

namespace curtail::protocol::simulator {
namespace {

class Store : public testing::Test {
  protected:
    Store()
    {
        auto const bytes = encode(run).bytes;
        store.create(run_name, bytes);
        auto const model = store.put("w0", model_name({1}, test::member("A", 0), 1, "w0"),
                                     Payload(Tickets(store.blocks(), 0)));
        commit(genesis(run, sha256(bytes), {test::member("A", 0), 1}, now, model));
    }
    void commit(Commit const& c) { store.create(commit_name(c.number), encode(c).bytes); }
    [[nodiscard]] Commit next_with(Intents const& intents)
    {
        return *next(run, store.chain().back(), store.digests().back(), {test::member("A", 0), 2},
                     now, {}, intents);
    }
    [[nodiscard]] Commit join()
    {
        Intents intents;
        intents.admit = Admission{{{"A"}, 7}, 0};
        return next_with(intents);
    }
    static void expect_violation(Invariant invariant, std::function<void()> const& act)
    {
        try {
            act();
            ADD_FAILURE() << "no violation";
        } catch (Violation const& violation) {
            EXPECT_STREQ(to_text(violation.invariant), to_text(invariant)) << violation.what();
        }
    }
    RunSpec run{small_run(8, {{"A"}, {"B"}})};
    SimStore store{run};
    Time now{from_unix_ms(1'700'000'000'000)};
};

TEST_F(Store, TakesAValidCommit)
{
    commit(join());
    EXPECT_EQ(store.chain().size(), 2U);
}

TEST_F(Store, RefusesABlockWithTwoHolders)
{
    commit(join());
    Intents intents;
    intents.admit = Admission{{{"B"}, 8}, 0};
    auto second = next_with(intents);
    second.members.at(1).held = second.members.at(0).held;
    expect_violation(Invariant::commit, [&] { commit(second); });
}

TEST_F(Store, RefusesTheDeletionOfANewModel)
{
    auto const name = store.chain().back().model.weights.name;
    expect_violation(Invariant::kept, [&] { store.remove(name); });
}

TEST_F(Store, RefusesAHeaderOutsideTheHolding)
{
    commit(join());
    auto const& me = store.chain().back().members.at(0);
    Header header;
    header.run = run.run;
    header.member = me.id;
    header.seq = {1};
    header.base_round = {1};
    header.ranges = Ranges::between(7, 8);
    header.tokens = run.params.block_tokens;
    expect_violation(Invariant::pending, [&] {
        store.create(header_name(header.member, header.seq), encode(header).bytes);
    });
}

}  // namespace
}  // namespace curtail::protocol::simulator
