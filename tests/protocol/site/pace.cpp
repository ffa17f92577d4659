// SPDX-License-Identifier: Apache-2.0
// A site with a slow connection to the store: it stays if its work gets in, and exits if none does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/site/pace.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Time noon = from_unix_ms(1'700'000'000'000);

// A joins beside B, which contributes in each round of 3 s. Somebody else merges what is announced
// at the end of each round, and removes A as the rules say.
class SlowSite : public ScriptedSiteBesideB {
  protected:
    explicit SlowSite(Millis drop_after = Seconds{60}) : ScriptedSiteBesideB(long_run(drop_after))
    {
        auto const record = encode(run);
        objects[run_name] = record.bytes;
        auto const first = genesis(run, record.sha256, {member("C", 0), 1}, noon,
                                   part("w0", model_name({1}, member("C", 0), 1, "w0")));
        objects[commit_name({1})] = encode(first).bytes;
        Intents c;
        c.admit = Admission{{{"C"}, 0xabcdef01}, 1'000'000};
        (void)append({}, c, noon);
        Intents intents;
        intents.admit = Admission{{{"B"}, 0xabcdef01}, 1'000'000};
        intents.remove = {{member("C", 2), Removal::silent}};
        (void)append({}, intents, noon);
    }
    static RunSpec long_run(Millis drop_after)
    {
        auto run = small_run(100'000);
        run.params.grant_quantum = 4;
        run.params.drop_after = drop_after;
        return run;
    }
    // Lets the site train for so long, unless it exits before. Returns its last outputs.
    std::vector<Output> live(Seconds time)
    {
        ends = now + time;
        return serve(Tick{});
    }
    std::optional<Input> work(Output const& output) override
    {
        if (auto const* note = std::get_if<Note>(&output))
            notes[note->type].push_back(json::to_string(note->details));
        if (now > ends) return std::nullopt;
        if (auto const* load = std::get_if<LoadModel>(&output))
            return takes(read(), read_model(load->model, load->op, Loaded{load->op}));
        if (auto const* adopt = std::get_if<Adopt>(&output))
            return takes(adopt->keeps_weights ? Millis{0} : read(),
                         read_model(adopt->model, adopt->op, Adopted{adopt->op}));
        if (auto const* train = std::get_if<Train>(&output); train && !train->blocks.empty())
            return Stepped{train->blocks.lowest(2), FractionalSeconds{1}};
        if (auto const* cut = std::get_if<Cut>(&output)) return CutReady{cut->op, 1.0, 0};
        if (auto const* delta = std::get_if<StoreDelta>(&output))
            return takes(publish, [=]() -> Input {
                return Stored{delta->op, part("d0", delta->place.name)};
            });
        if (auto const* restore = std::get_if<Restore>(&output))
            return Restored{restore->op, {}, {}};
        if (auto const* merge = std::get_if<Merge>(&output))
            return takes(merging, [=]() -> Input {
                return Merged{.op = merge->op, .weights = part("w0", merge->weights.name)};
            });
        return std::nullopt;
    }
    std::optional<Input> takes(Millis time, std::function<Input()> const& answer)
    {
        pass(time);
        return answer();
    }
    // The answer after a read of `model`, which others may have deleted meanwhile.
    [[nodiscard]] std::function<Input()> read_model(ModelRef const& model, Op op,
                                                    Input const& answer) const
    {
        return [=, this]() -> Input {
            if (cuts_off) return Unavailable{op, "no answer within 8 s"};
            bool const old = model.round.value + run.params.keep_models <= newest().round.value;
            if (deletes && old) return Corrupt{op, model.weights.name, "it is missing"};
            return answer;
        };
    }
    Input got(Get const& get) override
    {
        bool const commit = get.name.starts_with("commits/");
        pass(commit && objects.contains(get.name) ? read_commit : Millis{0});
        return ScriptedSiteBesideB::got(get);
    }
    Input created(Create const& create) override
    {
        bool const created = objects.emplace(create.name, create.bytes).second;
        if (!created) return Exists{create.op};
        return Created{create.op, noon + now.time_since_epoch()};
    }
    // Lets time pass, in which others merge.
    void pass(Millis time)
    {
        now += time;
        for (; next_merge <= now; next_merge += run.params.round_time) merge();
    }
    void merge()
    {
        std::vector<KnownContribution> known{by_b()};
        Intents intents;
        auto const at = noon + next_merge.time_since_epoch();
        for (auto const& m : newest().members) {
            if (m.site.value != "A") continue;
            auto const name = header_name(m.id, m.seq.next());
            if (auto const it = objects.find(name); it != objects.end())
                known.push_back({*decode_header(it->second, name), sha256(it->second), {}});
            else if (at - m.seen > run.params.drop_after + run.params.skew)
                intents.remove[m.id] = Removal::silent;
        }
        for (auto const& d : append(known, intents, at).decided) {
            if (member_parts(d.member).process.site.value != "A") continue;
            ++(d.refused ? refused : included);
        }
    }
    // How often the site has joined.
    [[nodiscard]] std::size_t joins() { return notes["joined"].size(); }

    [[nodiscard]] Millis read() const { return now >= slow_from && now < slow_until ? slow : fast; }

    bool cuts_off{false};  ///< each read of a model ends without an answer
    Millis slow{0};        // how long the site needs for a model from `slow_from` to `slow_until`,
    Millis fast{0};        // and at other times,
    MonoTime slow_from{};
    MonoTime slow_until{MonoTime::max()};
    Millis publish{0};      // to store a delta,
    Millis merging{0};      // to read the deltas of the others, and
    Millis read_commit{0};  // for a commit
    bool deletes{};         // models older than `keep_models` rounds
    MonoTime next_merge{Seconds{4}};
    MonoTime ends{};
    int included{0};
    int refused{0};
    std::map<std::string, std::vector<std::string>> notes;
};

TEST_F(SlowSite, WhoseModelsAreTooOldExitsAndSaysSo)
{
    slow = Seconds{13};
    auto const error = exit_error(live(Seconds{600}));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr("cannot keep up with the run: 3 times in a row"),
                      HasSubstr("reading its last model has taken 13.0 s"),
                      HasSubstr("a round takes 3.0 s"), HasSubstr("curtail-store amend")));
    EXPECT_EQ(included, 0);
    EXPECT_EQ(joins(), 1U);
    EXPECT_THAT(notes["too-slow"],
                ElementsAre(AllOf(HasSubstr(R"("late":3)"), HasSubstr(R"("round_ms":3000)"))));
    merge();
    EXPECT_EQ(newest().members.size(), 1U) << "its last header says that it leaves";
}

TEST_F(SlowSite, WhoseModelsAreDeletedBeforeItHasReadThemExits)
{
    slow = Seconds{13};
    deletes = true;
    auto const error = exit_error(live(Seconds{600}));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("cannot keep up with the run: 3 times in a row"));
    EXPECT_EQ(joins(), 1U);
    EXPECT_LT(now, MonoTime{Seconds{100}});
}

TEST_F(SlowSite, WhoseWorkGetsInStays)
{
    slow = Seconds{4};
    (void)live(Seconds{600});
    EXPECT_FALSE(site.exited());
    EXPECT_GT(included, 60);
    EXPECT_LT(refused, included / 2) << "a second cut on the same model may come too late";
    EXPECT_EQ(joins(), 1U);
}

TEST_F(SlowSite, ThatLoadsItsFirstModelForManyRoundsKeepsItsPlace)
{
    slow = Seconds{20};
    (void)live(Seconds{10});
    EXPECT_THAT(notes["removed"], IsEmpty());
    EXPECT_EQ(newest().members.size(), 2U);
    EXPECT_GE(newest().round.value, 3);
}

TEST_F(SlowSite, ThatPublishesTooSlowlyExits)
{
    publish = Seconds{10};
    auto const error = exit_error(live(Seconds{600}));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("publishing its last work 10.0 s"));
    EXPECT_EQ(included, 0);
}

TEST_F(SlowSite, ThatMergesTooSlowlyStays)
{
    merging = Seconds{20};
    (void)live(Seconds{600});
    EXPECT_FALSE(site.exited());
    EXPECT_GT(included, 10);
}

class SlowSiteThatIsDroppedSoon : public SlowSite {
  protected:
    SlowSiteThatIsDroppedSoon() : SlowSite(Seconds{9}) {}
};

TEST_F(SlowSiteThatIsDroppedSoon, ExitsIfItIsRemovedBeforeItHasAnyModel)
{
    slow = Seconds{30};
    auto const error = exit_error(live(Seconds{900}));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("reading its last model has taken 30.0 s"));
    EXPECT_EQ(joins(), 3U);
}

// Each attempt ends at the limit of time for a payload.
TEST_F(SlowSiteThatIsDroppedSoon, ExitsIfEachOfItsReadsIsCutOff)
{
    slow = Seconds{8};
    cuts_off = true;
    auto const error = exit_error(live(Seconds{3'600}));
    EXPECT_EQ(error.code, ExitCode::unavailable) << joins();
    EXPECT_LE(joins(), 6U);
}

TEST_F(SlowSite, ThatNeverReachesTheNewestCommitExits)
{
    read_commit = Seconds{4};
    auto const error = exit_error(live(Seconds{900}));
    EXPECT_EQ(error.code, ExitCode::unavailable);
    EXPECT_THAT(error.message(), HasSubstr("without reaching the newest one"));
    EXPECT_EQ(joins(), 0U);
}

TEST_F(SlowSite, WhoseWorkHasGotInWaitsForAFasterStore)
{
    slow = Seconds{13};
    slow_from = now + Seconds{30};
    slow_until = now + Seconds{100};
    (void)live(Seconds{300});
    EXPECT_FALSE(site.exited());
    EXPECT_GE(refused, 4);
    EXPECT_GT(included, 20);
}

TEST_F(SlowSite, WhoseWorkHasGotInExitsIfItsStoreStaysSlow)
{
    slow = Seconds{13};
    slow_from = now + Seconds{30};
    EXPECT_THAT(exit_error(live(Seconds{900})).message(), HasSubstr("10 times in a row"));
}

// Work can be stale for other reasons, for example because `max_staleness` is 0.
TEST(Pace, BlamesNoFastStoreForStaleWork)
{
    for (auto const& [read, too_slow] : {std::pair{Millis{200}, false}, {Millis{8'000}, true}}) {
        site::Pace pace;
        pace.take_round(Seconds{7});
        for (std::int64_t round = 1; round <= 3; ++round) {
            pace.begin_read({round}, 3, MonoTime{});
            pace.end_read(MonoTime{} + read);
            ContributionDecision stale;
            stale.refused = Refusal::stale;
            pace.decided(stale, {round});
        }
        EXPECT_EQ(pace.is_too_slow(), too_slow) << read.count();
    }
}

// It asks for models that are long deleted, one after the other.
TEST(Pace, BlamesNoFastStoreForModelsThatAreDeletedDuringASuspension)
{
    for (auto const& [read, too_slow] : {std::pair{Millis{200}, false}, {Millis{8'000}, true}}) {
        site::Pace pace;
        pace.take_round(Seconds{7});
        MonoTime now{};
        for (std::int64_t round = 1; round <= 4; ++round) {
            pace.begin_read({round}, 1, now);
            pace.attempt_failed(true);
            now += read;
        }
        EXPECT_EQ(pace.is_too_slow(), too_slow) << read.count();
    }
}

// A store may lose a model that nobody has deleted.
TEST(Pace, BlamesNoSlowStoreForALostModel)
{
    for (auto const& [rounds, late] : {std::pair{1, 0}, {2, 0}, {3, 1}}) {
        site::Pace pace;
        pace.begin_read({7}, 3, MonoTime{});
        pace.attempt_failed(true);
        pace.begin_read({7 + rounds}, 3, MonoTime{});
        EXPECT_EQ(pace.times_late(), late) << rounds;
    }
    site::Pace pace;
    pace.begin_read({7}, 1, MonoTime{});
    pace.attempt_failed(true);
    pace.model_is_lost();
    pace.begin_read({8}, 1, MonoTime{});
    EXPECT_EQ(pace.times_late(), 0) << "no newer model had replaced it";
}

}  // namespace
}  // namespace curtail::protocol::test
