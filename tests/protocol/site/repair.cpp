// SPDX-License-Identifier: Apache-2.0
// Models that cannot be read: how a site asks for them, stores them again, or gives up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scripted_site.hpp"

namespace curtail::protocol {
namespace {

using test::part;
using test::ScriptedSiteBesideB;
using test::small_run;
using testing::ElementsAre;
using testing::HasSubstr;

// Site A, whose machine has copies of the payloads in `copies`. A recomputed merge is right if
// `recomputes` is set. The payloads in `damaged` cannot be read.
class Repairing : public ScriptedSiteBesideB {
  protected:
    Repairing() : ScriptedSiteBesideB(run_with_repairs()) {}
    static RunSpec run_with_repairs()
    {
        auto run = small_run(2000);
        run.params.grant_quantum = 4;
        run.params.repair_wait = Seconds{120};
        run.params.drop_after = Seconds{3'600};
        return run;
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* load = std::get_if<LoadModel>(&output))
            return read<Loaded>(load->op, load->model);
        if (auto const* adopt = std::get_if<Adopt>(&output))
            return read<Adopted>(adopt->op, adopt->model);
        if (auto const* merge = std::get_if<Merge>(&output)) return merged(*merge);
        if (auto const* restore = std::get_if<Restore>(&output)) return restored(*restore);
        if (auto const* keep = std::get_if<Keep>(&output)) kept.push_back(keep->parts);
        if (auto const* note = std::get_if<Note>(&output)) notes.push_back(note->type);
        if (auto const* train = std::get_if<Train>(&output)) held = train->blocks;
        if (auto const* cut = std::get_if<Cut>(&output)) return CutReady{cut->op, 1.0, 0};
        if (auto const* delta = std::get_if<StoreDelta>(&output))
            return Stored{delta->op, part("d0", delta->place.name)};
        return std::nullopt;
    }
    Input merged(Merge const& merge)
    {
        for (auto const& ref :
             {merge.model.weights, merge.outer ? merge.outer->momentum : merge.model.weights})
            if (damaged.contains(ref.name)) return Corrupt{merge.op, ref.name, "it is missing"};
        Merged answer{merge.op, {}, part("w0", merge.weights.name), {}};
        if (merge.outer_step) answer.momentum = part("m0", merge.momentum->name);
        return answer;
    }
    template <class Good>
    Input read(Op op, ModelRef const& model)
    {
        auto const& name = model.weights.name;
        ++reads;
        if (damaged.contains(name)) return Corrupt{op, name, "there is no such object"};
        return Good{op};
    }
    Input restored(Restore const& restore)
    {
        restores.push_back(restore);
        Restored answer{restore.op, {}, {}};
        for (auto const& ref : restore.parts) {
            if (!damaged.contains(ref.name)) continue;
            bool const again = restore.recompute ? recomputes : copies.contains(ref.name);
            (again ? answer.stored : answer.damaged).push_back(ref.name);
            if (again) damaged.erase(ref.name);
        }
        return answer;
    }
    Input got(Get const& get) override
    {
        if (get.name.rfind("repair/", 0) == 0) looks.push_back(now);
        if (get.name == unanswered) return Unknown{get.op, "no answer"};
        return ScriptedSiteBesideB::got(get);
    }

    // Adds another writer's commit to the chain.
    Commit append(std::vector<KnownContribution> const& known, Intents const& intents,
                  Time at = from_unix_ms(1'700'000'000'000))
    {
        return ScriptedSiteBesideB::append(known, intents, at);
    }
    // A and B are members in round 2, and A has adopted it.
    void two_members()
    {
        serve_for(Seconds{1});
        Intents join;
        join.admit = Admission{{{"B"}, 0xabcdef01}, 1'000'000};
        append({}, join);
        append({by_b()}, {});
        serve_for(Seconds{2});
        ASSERT_EQ(newest().round, Round{2});
    }
    // Serves the site for this time.
    void serve_for(Millis time)
    {
        auto const end = now + time;
        while (now < end && !site.exited()) last = serve_once(Tick{}, end);
    }
    // Lets the trainer make a step.
    void step()
    {
        auto const blocks = (held - trained).lowest(2);
        trained += blocks;
        last = serve_once(Stepped{blocks, FractionalSeconds{1}}, now);
    }
    // Gives the site an input, answers its questions, and moves the clock to its next timer, or to
    // `end`.
    std::vector<Output> serve_once(Input input, MonoTime end)
    {
        std::deque<Input> inputs{std::move(input)};
        std::vector<Output> outputs;
        while (!inputs.empty() && !site.exited()) outputs = give_first(inputs);
        if (site.exited()) return outputs;
        now = std::max(now, std::min(site.wake().value_or(end), end));
        return outputs;
    }
    [[nodiscard]] std::string model() const { return newest().model.weights.name; }
    [[nodiscard]] int count(std::string const& note) const
    {
        return static_cast<int>(std::count(notes.begin(), notes.end(), note));
    }
    void request(std::int64_t k, std::vector<std::string> parts)
    {
        auto const round = newest().round;
        RepairRequest const r{round, k, {"B"}, std::move(parts), from_unix_ms(9)};
        objects[repair_name(round, k)] = encode(r).bytes;
    }

    std::set<std::string> copies, damaged;
    std::string unanswered;  // name of an object
    bool recomputes{false};
    int reads{0};
    std::vector<Restore> restores;
    std::vector<std::vector<PartRef>> kept;
    std::vector<std::string> notes;
    std::vector<MonoTime> looks;
    std::vector<Output> last;
    Ranges trained;
    Ranges held;
};

TEST_F(Repairing, KeepsTheModelThatItAdopted)
{
    two_members();
    ASSERT_FALSE(kept.empty());
    EXPECT_THAT(kept.back(), ElementsAre(newest().model.weights));
}

TEST_F(Repairing, AStartingSiteStoresItsOwnCopyAgain)
{
    two_members();
    Site second({{{"A"}, 0x12}, run, 0});
    site = second;
    damaged = copies = {model()};
    serve_for(Seconds{20});
    ASSERT_EQ(restores.size(), 1U);
    EXPECT_FALSE(restores[0].recompute);
    EXPECT_THAT(restores[0].parts, ElementsAre(newest().model.weights));
    EXPECT_TRUE(damaged.empty());
    EXPECT_EQ(site.status().state, ProtocolState::run);
    EXPECT_EQ(count("repaired"), 1);
    EXPECT_FALSE(objects.contains(repair_name({2}, 1))) << "nobody else is needed";
}

TEST_F(Repairing, WithoutACopyItAsksOnceAMinuteAndThenExitsFor75)
{
    two_members();
    Site second({{{"A"}, 0x12}, run, 0});
    site = second;
    damaged = {model()};
    auto const began = now;
    serve_for(Seconds{300});
    EXPECT_TRUE(site.exited());
    EXPECT_GE(now - began, Seconds{120});
    EXPECT_LE(now - began, Seconds{150});
    auto const first = decode_repair(objects.at(repair_name({2}, 1)), repair_name({2}, 1));
    EXPECT_EQ(first->site, SiteId{"A"});
    EXPECT_THAT(first->parts, ElementsAre("w0"));
    EXPECT_TRUE(objects.contains(repair_name({2}, 2)));
    EXPECT_FALSE(objects.contains(repair_name({2}, 4)));
    auto const error = exit_error(last);
    EXPECT_EQ(error.code, ExitCode::temporary);
    EXPECT_THAT(error.message(), HasSubstr(model()));
    EXPECT_THAT(error.message(), HasSubstr("valid up to commit 5"));
    EXPECT_THAT(error.message(), HasSubstr("a site that rests may have a copy"));
    EXPECT_THAT(error.message(), HasSubstr("`curtail-store fork`"));
    EXPECT_THAT(error.message(), HasSubstr("from commit 1"));
}

TEST_F(Repairing, AReaderContinuesOnceAnotherSiteHasStoredTheModel)
{
    two_members();
    Site second({{{"A"}, 0x12}, run, 0});
    site = second;
    damaged = {model()};
    serve_for(Seconds{60});
    EXPECT_EQ(site.status().state, ProtocolState::base);
    damaged.clear();
    serve_for(Seconds{30});
    EXPECT_EQ(site.status().state, ProtocolState::run);
}

TEST_F(Repairing, ANewerModelMakesTheDamagedOneUseless)
{
    two_members();
    Site second({{{"A"}, 0x12}, run, 0});
    site = second;
    damaged = {model()};
    serve_for(Seconds{60});
    append({by_b()}, {});
    serve_for(Seconds{30});
    EXPECT_EQ(site.status().state, ProtocolState::run);
    EXPECT_EQ(site.status().base, Round{3});
}

// The model may have expired because of a newer commit.
TEST_F(Repairing, NoSiteGivesUpBeforeItHasLookedForNewerCommits)
{
    two_members();
    Site second({{{"A"}, 0x12}, run, 0});
    site = second;
    damaged = {model()};
    serve_for(Seconds{60});
    auto const newer = append({by_b()}, {});
    unanswered = commit_name(newer.number);
    serve_for(Seconds{300});
    EXPECT_FALSE(site.exited());
    unanswered.clear();
    serve_for(Seconds{30});
    EXPECT_EQ(site.status().base, newer.round);
}

TEST_F(Repairing, AReaderComputesTheMergeOnceMore)
{
    two_members();
    Site second({{{"A"}, 0x12}, run, 0});
    site = second;
    damaged = {model()};
    recomputes = true;
    serve_for(Seconds{30});
    EXPECT_EQ(site.status().state, ProtocolState::run);
    ASSERT_EQ(restores.size(), 2U);
    auto const& merge = restores[1].recompute;
    ASSERT_TRUE(merge);
    auto const made = commit({4});
    EXPECT_EQ(merge->model, commit({3}).model);
    EXPECT_EQ(merge->weights.name, made.model.weights.name);
    ASSERT_EQ(merge->include.size(), 1U);
    EXPECT_EQ(merge->include[0].member, b);
    EXPECT_EQ(merge->include[0].scale, made.decided[0].scale);
    EXPECT_EQ(merge->include[0].delta.payload.name, delta_name({1}, b, {1}));
    EXPECT_EQ(merge->outer_step, made.outer_step);
}

TEST_F(Repairing, AMemberLooksForRequestsOnceAMinute)
{
    two_members();
    looks.clear();
    serve_for(Seconds{600});
    EXPECT_GE(looks.size(), 9U);
    EXPECT_LE(looks.size(), 11U);
}

TEST_F(Repairing, AMemberStoresItsCopyForAnotherSiteAtMostTwiceARound)
{
    two_members();
    copies = {model()};
    for (std::int64_t k = 1; k <= 4; ++k) {
        damaged = {model()};
        request(k, {"w0"});
        serve_for(Seconds{75});
        EXPECT_EQ(damaged.empty(), k <= 2) << "request " << k;
    }
    EXPECT_EQ(count("repaired"), 2);
    append({by_b()}, {});
    damaged.clear();
    serve_for(Seconds{5});
    copies = damaged = {model()};
    request(1, {"w0"});
    serve_for(Seconds{75});
    EXPECT_TRUE(damaged.empty()) << "a new round";
}

TEST_F(Repairing, AFalseRequestCostsOneRead)
{
    two_members();
    copies = {model()};
    request(1, {"w0"});
    serve_for(Seconds{200});
    EXPECT_EQ(restores.size(), 1U);
    EXPECT_EQ(count("repaired"), 0);
}

TEST_F(Repairing, AMemberIgnoresRequestsThatItCannotUse)
{
    two_members();
    objects[repair_name({2}, 1)] = "{}";
    request(2, {"x7"});
    copies = damaged = {model()};
    request(3, {"w0"});
    serve_for(Seconds{250});
    EXPECT_TRUE(damaged.empty());
    EXPECT_EQ(restores.size(), 1U);
}

TEST_F(Repairing, AMemberWithoutACopyComputesTheMergeForAnotherSite)
{
    two_members();
    damaged = {model()};
    recomputes = true;
    request(1, {"w0"});
    serve_for(Seconds{75});
    EXPECT_TRUE(damaged.empty());
    ASSERT_EQ(restores.size(), 2U);
    EXPECT_TRUE(restores[1].recompute);
}

TEST_F(Repairing, AMergeThatCannotReadItsModelRepairsItFirst)
{
    two_members();
    step();
    damaged = copies = {model()};
    serve_for(Seconds{60});
    EXPECT_TRUE(damaged.empty());
    EXPECT_EQ(newest().round, Round{3});
}

TEST_F(Repairing, ASiteThatIsToLeaveDoesNotWaitForAModel)
{
    two_members();
    append({by_b()}, {});
    damaged = {model()};
    step();
    serve_for(Seconds{40});
    ASSERT_FALSE(site.exited());
    ASSERT_EQ(site.status().base, Round{2});
    auto const begun = now;
    last = serve_once(StopRequested{now + Seconds{50}, now + Seconds{60}}, now);
    serve_for(Seconds{20});
    EXPECT_TRUE(site.exited());
    EXPECT_LT(now - begun, Seconds{20});
    EXPECT_EQ(exit_error(last).code, ExitCode::ok);
}

}  // namespace
}  // namespace curtail::protocol
