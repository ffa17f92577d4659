// SPDX-License-Identifier: Apache-2.0
// Another site commits first, so prepared work no longer fits: the site rebuilds it or gives way.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "scripted_site.hpp"

namespace curtail::protocol {
namespace {

using test::part;
using test::ScriptedSiteBesideB;
using test::small_run;

// Site A with a trainer that makes a given number of steps. Merges fail until the test sets
// `merges`, then the test answers them; it also answers each StoreModel. Member B was last seen
// years ago.
class Interrupted : public ScriptedSiteBesideB {
  protected:
    explicit Interrupted(RunSpec spec = quantum_of_four()) : ScriptedSiteBesideB(std::move(spec)) {}
    static RunSpec quantum_of_four()
    {
        auto run = small_run(2000);
        run.params.grant_quantum = 4;
        return run;
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* load = std::get_if<LoadModel>(&output)) return Loaded{load->op};
        if (auto const* adopt = std::get_if<Adopt>(&output)) return Adopted{adopt->op};
        if (auto const* train = std::get_if<Train>(&output)) return step(train->blocks);
        if (auto const* cut = std::get_if<Cut>(&output)) {
            if (!cut_at) cut_at = now;
            return CutReady{cut->op, 1.0, 0};
        }
        if (auto const* restore = std::get_if<Restore>(&output))
            return Restored{restore->op, {}, {}};
        if (auto const* delta = std::get_if<StoreDelta>(&output))
            return Stored{delta->op, part("d0", delta->place.name)};
        if (auto const* merge = std::get_if<Merge>(&output); merge != nullptr && !merges)
            return Unavailable{merge->op, "not now"};
        return std::nullopt;
    }
    Input got(Get const& get) override
    {
        reads.push_back(get.name);
        return ScriptedSiteBesideB::got(get);
    }
    std::optional<Input> step(Ranges const& held)
    {
        auto const blocks = (held - trained).lowest(2);
        if (steps == 0 || blocks.empty()) return std::nullopt;
        --steps;
        trained += blocks;
        return Stepped{blocks, FractionalSeconds{1}};
    }

    // Adds another writer's commit to the chain.
    Commit append(std::vector<KnownContribution> const& known, Intents const& intents,
                  Time at = from_unix_ms(1'600'000'000'000))
    {
        return ScriptedSiteBesideB::append(known, intents, at);
    }
    // A and B are members in round 2, and A has adopted it.
    void two_members()
    {
        (void)serve(Tick{});
        Intents join;
        join.admit = Admission{{{"B"}, 0xabcdef01}, 1'000'000};
        append({}, join);
        append({by_b()}, {});
        ASSERT_EQ(newest().round, Round{2});
    }

    Input created(Create const& create) override
    {
        created_at = now + Millis{10};  // when the site gets the answer
        return ScriptedSiteBesideB::created(create);
    }
    // The store's clock as the site knows it.
    [[nodiscard]] Time store_time(MonoTime at) const
    {
        return from_unix_ms(1'700'000'000'000) + (at - created_at);
    }

    Ranges trained;
    int steps{0};
    bool merges{false};
    std::optional<MonoTime> cut_at;  // the first cut
    MonoTime created_at;             // the last object that A created
    std::vector<std::string> reads;  // names of the objects that A reads
};

TEST_F(Interrupted, LoneWeightsWithWorkRefusedMeanwhileAreNotCommitted)
{
    two_members();
    steps = 1;
    (void)serve(Tick{});
    auto const name = header_name(a, {1});
    ASSERT_TRUE(objects.contains(name)) << "must be announced, as no merge succeeds";

    Intents remove;
    remove.remove[b] = Removal::silent;
    append({}, remove);
    steps = 1;
    auto outputs = serve(Tick{});
    ASSERT_TRUE(!outputs.empty() && std::holds_alternative<StoreModel>(outputs.back()))
        << "must commit as a lone member";
    auto const store = std::get<StoreModel>(outputs.back());
    auto const refusing = append(
        {{*decode_header(objects.at(name), name), sha256(objects.at(name)), Refusal::digest}}, {});
    ASSERT_EQ(refusing.kind, Commit::Kind::roster);
    ASSERT_EQ(refusing.find(a)->seq, Seq{1});

    (void)serve(Stored{store.op, part("w0", store.place.name)});
    EXPECT_EQ(newest().round, refusing.round) << "weights with refused work became the model";
    EXPECT_EQ(site.status().undecided.size(), 1U) << "only the refused work is lost";
}

TEST_F(Interrupted, AMemberWithWorkDecidedMeanwhileIsNotRemoved)
{
    two_members();
    steps = 1;
    merges = true;
    auto const outputs = serve(Tick{});
    ASSERT_TRUE(!outputs.empty() && std::holds_alternative<Merge>(outputs.back()));
    auto const merge = std::get<Merge>(outputs.back());
    auto late = by_b();
    late.bad = Refusal::digest;
    auto const refusing = append({late}, {});

    (void)serve(Merged{merge.op, {}, part("w0", merge.weights.name), {}});
    auto const merged = commit(refusing.number.next());
    ASSERT_EQ(merged.kind, Commit::Kind::merge);
    EXPECT_NE(merged.find(b), nullptr) << "nothing asked for its next contribution";
}

TEST_F(Interrupted, AStoppedSiteReadsItsHeadersBackIfItIsTooLateForItsWeights)
{
    two_members();
    steps = 1;
    (void)serve(Tick{});
    ASSERT_TRUE(objects.contains(header_name(a, {1})));
    Intents remove;
    remove.remove[b] = Removal::silent;
    append({}, remove);
    steps = 1;
    auto const checkpoint = serve(Tick{});
    ASSERT_TRUE(!checkpoint.empty() && std::holds_alternative<StoreModel>(checkpoint.back()));

    (void)site.on(now, StopRequested{now, now + Seconds{60}});
    reads.clear();
    auto const outputs =
        serve(Unavailable{std::get<StoreModel>(checkpoint.back()).op, "the store is full"});
    ASSERT_TRUE(site.exited());
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::unavailable) << "loses the second cut";
    EXPECT_EQ(std::count(reads.begin(), reads.end(), header_name(a, {1})), 1);
}

// A site whose transfers take long reads the merge commit late. It must not train for longer than
// the others because of that.
TEST_F(Interrupted, ARoundEndsByTheTimeOfItsMergeCommit)
{
    two_members();
    steps = 1;
    auto const late = Millis{1'000};
    auto const read = now;
    append({by_b()}, {}, store_time(now - late));
    (void)serve(Tick{});
    ASSERT_TRUE(cut_at);
    auto const round_time = run.params.round_time;
    EXPECT_LT(*cut_at - (read - late), round_time + run.params.poll_run);
    EXPECT_GE(*cut_at - (read - late), round_time - Millis{100});
}

// The store answers until the site looks for an amendment.
class InterruptedStore : public Interrupted {
  protected:
    Input got(Get const& get) override
    {
        bool const amendment = get.name.starts_with("amendments/");
        if (goes_away && amendment && !away_since) away_since = now;
        return away_since ? Tick{} : Interrupted::got(get);
    }
    bool goes_away{false};
    std::optional<MonoTime> away_since;
};

TEST_F(InterruptedStore, ACutWaitsForOneReadOnly)
{
    two_members();
    steps = 1;
    goes_away = true;
    (void)serve(Tick{});
    ASSERT_TRUE(away_since);
    ASSERT_TRUE(cut_at);
    EXPECT_LE(*cut_at - *away_since, Millis{1'100});
}

class InterruptedOuterStep : public Interrupted {
  protected:
    InterruptedOuterStep() : Interrupted(with_momentum()) { merges = true; }
    static RunSpec with_momentum()
    {
        auto run = quantum_of_four();
        run.outer.type = Outer::Type::nesterov;
        run.params.outer_min_permille = 0;
        return run;
    }
    // Adds a commit that takes in an amendment of the outer learning rate.
    void amend(double eta)
    {
        auto const parent = newest();
        Amendment amendment;
        amendment.run = run.run;
        amendment.number = 1;
        amendment.previous = sha256(objects.at(run_name));
        amendment.base = parent.number;
        amendment.changes = {{"outer.eta", exact(parent.terms.outer.eta), exact(eta)}};
        auto const encoded = encode(amendment);
        objects[amendment_name(1)] = encoded.bytes;
        Intents intents;
        intents.amend = NextAmendment{{1, encoded.sha256}, amendment};
        append({}, intents);
    }
};

TEST_F(InterruptedOuterStep, ItIsRepeatedAfterAnAmendmentOfItsParameters)
{
    two_members();
    (void)by_b();
    steps = 1;
    auto const outputs = serve(Tick{});
    ASSERT_TRUE(!outputs.empty() && std::holds_alternative<Merge>(outputs.back()));
    auto const merge = std::get<Merge>(outputs.back());
    ASSERT_TRUE(merge.outer_step);
    amend(0.25);

    auto const again = serve(
        Merged{merge.op, {}, part("w0", merge.weights.name), part("m0", merge.momentum->name)});
    ASSERT_TRUE(!again.empty() && std::holds_alternative<Merge>(again.back()))
        << "commits a model of the old parameters";
    EXPECT_EQ(std::get<Merge>(again.back()).eta, 0.25);
}

TEST_F(Interrupted, AReplacedProcessExitsWhateverTheReasonOfItsRemoval)
{
    (void)serve(Tick{});
    ASSERT_TRUE(newest().find(a));
    Intents intents;
    intents.admit = Admission{{{"A"}, 0x99}, 1'000'000};
    intents.remove[a] = Removal::silent;
    append({}, intents);
    auto const outputs = serve(Tick{});
    ASSERT_TRUE(site.exited()) << "two processes would remove each other forever";
    EXPECT_EQ(std::get<Exit>(outputs.back()).code, ExitCode::temporary);
}

}  // namespace
}  // namespace curtail::protocol
