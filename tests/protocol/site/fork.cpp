// SPDX-License-Identifier: Apache-2.0
// A run that continues from a commit of another run.
#include "protocol/rules/fork.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/records/terms.hpp"
#include "protocol/rules/chain.hpp"
#include "scripted_site.hpp"
#include "simulator/simulator.hpp"
#include "simulator/verify_objects.hpp"

namespace curtail::protocol {
namespace {

using simulator::Simulator;
using test::part;
using test::small_run;
using testing::HasSubstr;

Time const now = from_unix_ms(1'700'000'000'000);

RunSpec fork_spec(std::int64_t blocks = 40)
{
    auto run = small_run(blocks);
    run.run = {"fork"};
    run.fork = ForkRef{{"test"}, {12}, sha256("origin")};
    run.params.keep_models = 5;
    return run;
}

Commit origin_commit()
{
    Commit c;
    c.run = {"test"};
    c.number = {12};
    c.parent = sha256("parent");
    c.kind = Commit::Kind::merge;
    c.round = {7};
    c.model = {{7}, part("w0", "models/7/A.00000001.3-9/w0.h5")};
    c.outer = OuterRef{Outer::Type::nesterov, part("m0", "models/5/B.00000001.4-7/m0.h5")};
    c.done = Ranges::between(0, 10);
    c.aside = Ranges::between(12, 13);
    c.totals = {Tokens{80}, 20};
    c.norms = {1.5, 2.5};
    c.recent = {{{6}, {10}}, {{7}, {12}}};
    c.members.emplace_back();
    c.members.back().id = {"A.00000001.3"};
    c.terms = terms_of(small_run());
    c.amended = AmendmentRef{1, sha256("amendment")};
    return c;
}

Commit first_commit(RunSpec const& run)
{
    return first_of_fork(run, encode(run).sha256, origin_commit(), {{"S.00000000.0"}, 1}, now);
}

TEST(Fork, TheRecordNamesItsOrigin)
{
    auto const run = fork_spec();
    auto const encoded = encode(run);
    EXPECT_THAT(encoded.bytes, HasSubstr(R"("fork":{"number":12,"run":"test","sha256":")"));
    auto const decoded = decode_run(encoded.bytes);
    ASSERT_TRUE(decoded) << decoded.error().message();
    EXPECT_EQ(*decoded, run);
    auto plain = run;
    plain.fork.reset();
    EXPECT_THAT(encode(plain).bytes, testing::Not(HasSubstr("\"fork\":{")));
    EXPECT_FALSE(difference(run, plain)) << "a site's configuration does not know the origin";
}

TEST(Fork, TheFirstCommitRepeatsTheStateOfTheOrigin)
{
    auto const run = fork_spec();
    auto const first = first_commit(run);
    auto const origin = origin_commit();
    EXPECT_EQ(first.number, CommitNumber{1});
    EXPECT_EQ(first.model, origin.model);
    EXPECT_EQ(first.outer, origin.outer);
    EXPECT_EQ(first.done, origin.done);
    EXPECT_EQ(first.aside, origin.aside);
    EXPECT_EQ(first.totals, origin.totals);
    EXPECT_TRUE(first.norms.empty()) << "its deltas may have another length";
    EXPECT_TRUE(first.members.empty());
    EXPECT_EQ(first.terms, terms_of(run));
    EXPECT_EQ(first.recent, (std::vector<RecentMerge>{{{7}, {1}}}));
    EXPECT_FALSE(first.amended);
    auto const error = check_genesis(run, encode(run).sha256, first);
    EXPECT_FALSE(error) << error->message();
    auto const bytes = encode(first).bytes;
    EXPECT_EQ(decode_commit(bytes, commit_name({1})).value(), first);
}

TEST(Fork, AFirstCommitThatBreaksARuleIsRefused)
{
    struct Case {
        char const* rule;
        std::function<void(Commit&)> edit;
    };
    std::vector<Case> const cases{
        {"digest of run.json", [](Commit& c) { c.parent = sha256("x"); }},
        {"only repeat", [](Commit& c) { c.members = origin_commit().members; }},
        {"only repeat", [](Commit& c) { c.complete = true; }},
        {"only repeat", [](Commit& c) { c.number = {2}; }},
        {"only repeat", [](Commit& c) { c.terms.params.max_missed += 1; }},
        {"only repeat", [](Commit& c) { c.model.round = {6}; }},
        {"only repeat", [](Commit& c) { c.recent = origin_commit().recent; }},
        {"only repeat", [](Commit& c) { c.amended = origin_commit().amended; }},
        {"done and aside", [](Commit& c) { c.aside = Ranges::between(9, 10); }},
        {"inside the stream", [](Commit& c) { c.aside = Ranges::between(40, 41); }},
        {"blocks to train", [](Commit& c) { c.aside = Ranges::between(10, 40); }},
        {"totals", [](Commit& c) { c.totals.tokens = Tokens{88}; }},
        {"only repeat", [](Commit& c) { c.norms = {1.5}; }}};
    auto const run = fork_spec();
    for (auto const& [rule, edit] : cases) {
        auto first = first_commit(run);
        edit(first);
        auto const error = check_genesis(run, encode(run).sha256, first);
        ASSERT_TRUE(error) << rule;
        EXPECT_EQ(error->code, ExitCode::protocol);
        EXPECT_THAT(error->message(), HasSubstr(rule));
    }
    auto const plain = small_run();
    EXPECT_TRUE(check_genesis(plain, encode(plain).sha256, first_commit(plain)))
        << "only a fork may begin with work";
}

using ForkedSite = test::ScriptedSite;

TEST_F(ForkedSite, NeverCreatesALostCommitOfTheFork)
{
    auto forked = run;
    forked.fork = fork_spec().fork;
    objects[run_name] = encode(forked).bytes;
    auto const outputs = serve(Tick{});
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::protocol);
    EXPECT_THAT(exit_error(outputs).message(), HasSubstr("the run is a fork"));
    EXPECT_FALSE(objects.contains(commit_name({1})));
}

// Commit 1 of a fork of the simulated run, from its commit at `index`, in a new store.
void begin_fork(Simulator& fork, RunSpec const& spec, Simulator& original, std::size_t index)
{
    auto moved = original.store().chain().at(index);
    auto const run = encode(spec);
    ASSERT_TRUE(fork.store().create(run_name, run.bytes));
    simulator::Payload const blocks(simulator::tickets_of(moved.done, fork.store().blocks()));
    auto const store = [&](PartRef& ref) { ref = fork.store().put(ref.part, ref.name, blocks); };
    store(moved.model.weights);
    if (moved.outer) store(moved.outer->momentum);
    auto const first = first_of_fork(spec, run.sha256, moved, {{"S.00000000.0"}, 1}, now);
    ASSERT_TRUE(fork.store().create(commit_name({1}), encode(first).bytes));
}

TEST(Fork, SitesCompleteAForkUnderFaults)
{
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto run = small_run(200, {{"A"}, {"B"}});
        run.outer.type = Outer::Type::nesterov;
        run.params.outer_min_permille = 0;
        Simulator original(run, seed, {});
        original.start(0);
        original.start(1);
        auto const merges = [&] { return original.store().chain().size() >= 3 + seed % 9; };
        ASSERT_TRUE(original.run_until(Seconds{300}, merges)) << seed;
        auto const index = original.store().chain().size() - 1;
        auto spec = small_run(200 + 10 * static_cast<std::int64_t>(seed % 3), {{"C"}, {"D"}});
        spec.run = {"fork"};
        spec.fork = ForkRef{{"test"},
                            original.store().chain().at(index).number,
                            original.store().digests().at(index)};
        simulator::Chaos chaos;
        chaos.stale_404 = chaos.no_answer = chaos.lost_reply = 0.05;
        chaos.faults_per_s = 0.1;
        Simulator fork(spec, seed + 100, chaos);
        begin_fork(fork, spec, original, index);
        fork.start(0);
        fork.start(1);
        fork.run_until(Seconds{60}, [&] { return fork.complete(); });
        fork.set_chaos({});
        fork.store().restore_commits();
        for (int tries = 0; tries < 20 && !fork.complete(); ++tries) {
            if (fork.living_count() == 0) fork.start(0);
            fork.run_until(fork.now() + Seconds{120},
                           [&] { return fork.complete() || fork.living_count() == 0; });
        }
        ASSERT_TRUE(fork.complete()) << seed;
        fork.store().heal();
        auto const summary = simulator::verify_objects(fork.store().source());
        ASSERT_TRUE(summary) << seed << ": " << summary.error().message();
        EXPECT_EQ(summary->run.fork, spec.fork);
    }
}

}  // namespace
}  // namespace curtail::protocol
