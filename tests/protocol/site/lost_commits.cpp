// SPDX-License-Identifier: Apache-2.0
// A store that has lost commits, or that is an older copy of itself: no process writes another
// commit under a number that was given, and a process with copies mends the chain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/records/terms.hpp"
#include "scripted_site.hpp"

namespace curtail::protocol::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A chain of roster commits. C has written all of them, and B is a member since commit 3.
class LostCommits : public ScriptedSiteBesideB {
  protected:
    LostCommits() : ScriptedSiteBesideB(small_run(2000, {{"A"}, {"B"}, {"C"}}))
    {
        auto const record = encode(run);
        objects[run_name] = record.bytes;
        MemberId const c = member("C", 0);
        objects[commit_name({1})] = encode(genesis(run, record.sha256, {c, 1}, noon,
                                                   part("w0", model_name({1}, c, 1, "w0"))))
                                        .bytes;
        for (int i = 2; i <= length; ++i) admit(i);
        whole = objects;
    }
    void admit(int number)
    {
        Intents intents;
        intents.admit = Admission{{{"B"}, static_cast<std::uint32_t>(number)}, 1'000};
        (void)append({}, intents, noon);
    }
    void lose(std::int64_t first, std::int64_t last)
    {
        for (auto n = first; n <= last; ++n) objects.erase(commit_name({n}));
    }
    // Only commits: the process may write other objects.
    [[nodiscard]] std::map<std::string, std::string> commits() const
    {
        std::map<std::string, std::string> some;
        for (auto const& [name, bytes] : objects)
            if (name.starts_with("commits/")) some.emplace(name, bytes);
        return some;
    }
    [[nodiscard]] bool is_whole() const
    {
        for (auto const& [name, bytes] : whole)
            if (!objects.contains(name) || objects.at(name) != bytes) return false;
        return true;
    }
    Input created(Create const& create) override
    {
        if (!create.name.starts_with("probe/")) creates.push_back(create.name);
        return ScriptedSite::created(create);
    }
    std::optional<Input> work(Output const& output) override
    {
        auto const* note = std::get_if<Note>(&output);
        if (note != nullptr && (note->type.starts_with("commits-") ||
                                note->type == "foreign-commit" || note->type == "record-awaited"))
            notes.push_back(note->type + json::to_string(note->details));
        return std::nullopt;
    }
    // Starts the site, which exits with 76 and has created nothing but the probe. Returns the
    // error.
    std::string refusal()
    {
        auto const before = objects;
        auto const begin = now;
        auto const error = exit_error(serve(Tick{}));
        EXPECT_EQ(error.code, ExitCode::protocol) << error.message();
        EXPECT_THAT(creates, IsEmpty());
        EXPECT_GT(now - begin, Seconds{30}) << "an answer may be old";
        return error.message();
    }
    void keep_copies()
    {
        for (auto const& [name, bytes] : whole)
            if (name.starts_with("commits/")) copies.emplace(name, bytes);
    }
    [[nodiscard]] std::string of_another_run(std::int64_t number) const
    {
        auto const name = commit_name({length});
        auto commit = decode_commit(objects.at(name), name).value();
        commit.run = {"another"};
        commit.number = {number};
        return encode(commit).bytes;
    }
    [[nodiscard]] CommitRef ref(std::int64_t number) const
    {
        return {{number}, sha256(whole.at(commit_name({number})))};
    }

    static constexpr int length = 14;
    static constexpr Time noon = from_unix_ms(1'700'000'000'000);
    std::map<std::string, std::string> whole;
    std::vector<std::string> creates;
    std::vector<std::string> notes;
};

// A hole may be where the search looks (1, 2, 4, 8, 12), or where it does not.
class Hole : public LostCommits, public testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(Hole, IsNeverFilledWithAnotherCommit)
{
    auto const [first, last] = GetParam();
    lose(first, last);
    auto const message = refusal();
    EXPECT_THAT(message, HasSubstr(commit_name({first})));
    EXPECT_THAT(message, HasSubstr(commit_name({last})));
    EXPECT_THAT(message, HasSubstr("missing"));
}

TEST_P(Hole, IsFilledFromCopies)
{
    auto const [first, last] = GetParam();
    keep_copies();
    lose(first, last);
    (void)serve(Tick{});
    EXPECT_TRUE(site.status().member);
    EXPECT_TRUE(is_whole());
    EXPECT_THAT(notes,
                ElementsAre(HasSubstr("commits-restored{\"first\":" + std::to_string(first))));
}

INSTANTIATE_TEST_SUITE_P(LostCommits, Hole,
                         testing::Values(std::pair{1, 1}, std::pair{2, 2}, std::pair{3, 3},
                                         std::pair{8, 8}, std::pair{12, 12}, std::pair{13, 13},
                                         std::pair{1, 13}, std::pair{5, 9}),
                         [](auto const& hole) {
                             return std::to_string(hole.param.first) + "to" +
                                    std::to_string(hole.param.second);
                         });

TEST_F(LostCommits, AreReportedBeforeRunJsonIsCreated)
{
    objects.erase(run_name);
    lose(1, 3);
    EXPECT_THAT(refusal(), HasSubstr("run.json is missing, but " + commit_name({4}) + " exists"));
    EXPECT_THAT(notes, ElementsAre(HasSubstr("run.json")));
}

TEST_F(LostCommits, OfWhichAnotherSiteKnowsEndAStart)
{
    lose(14, 14);
    objects[status_name({"C"})] = encode(SiteStatus{member("C", 2), {14}, noon}).bytes;
    EXPECT_THAT(refusal(), HasSubstr("a site has read " + commit_name({14}) + ", but the newest"));
}

TEST_F(LostCommits, ThatThisSiteHasReadEndAStart)
{
    keep_copies();
    lose(10, 14);
    site = Site({{{"A"}, 0x11}, run, 0, {}, ref(14)});
    EXPECT_THAT(refusal(), HasSubstr("this site has read " + commit_name({14})));
    EXPECT_THAT(notes, ElementsAre(R"(record-awaited{"name":")" + commit_name({14}) +
                                   R"(","why":"this site has read it, but the newest one in the )"
                                   R"(store is )" +
                                   commit_name({9}) + R"("})"));
}

TEST_F(LostCommits, AllOfThemEndAStartToo)
{
    lose(1, 14);
    site = Site({{{"A"}, 0x11}, run, 0, {}, ref(14)});
    EXPECT_THAT(refusal(), HasSubstr("the store has no commit"));
}

TEST_F(LostCommits, InPlaceOfWhichThereAreOthersEndAStart)
{
    auto other = ref(7);
    other.sha256 = sha256("another");
    site = Site({{{"A"}, 0x11}, run, 0, {}, other});
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("is not the commit that this site has read before"));
    EXPECT_THAT(creates, IsEmpty());
}

TEST_F(LostCommits, AForeignObjectUnderAFutureNumberIsNamed)
{
    for (auto const& bytes : {std::string("{}"), of_another_run(64)}) {
        objects[commit_name({64})] = bytes;
        site = Site({{{"A"}, 0x11}, run, 0});
        auto const error = exit_error(serve(Tick{}));
        EXPECT_EQ(error.code, ExitCode::protocol);
        EXPECT_THAT(error.message(), HasSubstr(commit_name({64})));
        EXPECT_THAT(error.message(), HasSubstr("no commit of this run"));
        EXPECT_THAT(creates, IsEmpty());
    }
}

TEST_F(LostCommits, AllHolesAreNamed)
{
    lose(5, 5);
    lose(7, 8);
    EXPECT_THAT(refusal(), HasSubstr(commit_name({5}) + ", " + commit_name({7}) + " to " +
                                     commit_name({8}) + " are missing"));
}

// Wherever the search meets it: as the newest, its parent, or a commit after the newest.
TEST_F(LostCommits, ADamagedOrForeignCommitNamesTheRepair)
{
    for (int const number : {13, 14, 15}) {
        objects = whole;
        for (auto const& bytes :
             {std::string("{}"), std::string(), of_another_run(number),
              whole.at(commit_name({std::min(number, length)})).substr(0, 200)}) {
            SCOPED_TRACE(number);
            objects = whole;
            objects[commit_name({number})] = bytes;
            site = Site({{{"A"}, 0x11}, run, 0});
            auto const error = exit_error(serve(Tick{}));
            EXPECT_EQ(error.code, ExitCode::protocol);
            EXPECT_THAT(error.remedy, HasSubstr("curtail-store repair"));
            EXPECT_THAT(error.remedy, HasSubstr("curtail-store fork"));
            EXPECT_THAT(creates, IsEmpty());
        }
    }
}

TEST_F(LostCommits, ACommitOfAnotherVersionAsksForThatVersion)
{
    for (int const number : {14, 15}) {
        objects = whole;
        objects[commit_name({number})] = R"({"format":99})";
        site = Site({{{"A"}, 0x11}, run, 0});
        auto const error = exit_error(serve(Tick{}));
        EXPECT_EQ(error.code, ExitCode::data);
        EXPECT_THAT(error.message(), HasSubstr("it has format 99"));
        EXPECT_THAT(error.remedy, HasSubstr("the version that started it"));
        EXPECT_THAT(creates, IsEmpty());
    }
}

// The object 17 is gone when the site has read it five times. Then the store gives wrong bytes of
// commit 14, once.
class GoneObject : public LostCommits {
  protected:
    Input got(Get const& get) override
    {
        auto answer = ScriptedSite::got(get);
        if (get.name == commit_name({17}) && ++reads_ == 5) objects.erase(get.name);
        if (get.name == commit_name({14}) && reads_ == 5 && !std::exchange(spoiled_, true))
            return Got{get.op, "{}"};
        return answer;
    }

  private:
    int reads_{0};
    bool spoiled_{false};
};

TEST_F(GoneObject, DoesNotEndAStart)
{
    objects[commit_name({17})] = of_another_run(17);
    (void)serve(Tick{});
    EXPECT_TRUE(site.status().member);
}

// The store changes after this process has read the newest commit and before it creates the next.
class ChangedStore : public LostCommits {
  protected:
    Input got(Get const& get) override
    {
        bool const reads_header = get.name == status_name({"C"});
        if (reads_header && change) std::exchange(change, nullptr)();
        return ScriptedSite::got(get);
    }
    Input created(Create const& create) override
    {
        auto answer = LostCommits::created(create);
        bool const mends = create.name.starts_with("commits/");
        if (mends && change_at_create) std::exchange(change_at_create, nullptr)();
        return answer;
    }
    std::function<void()> change;
    std::function<void()> change_at_create;
};

TEST_F(ChangedStore, AForeignObjectBeyondTheNextCommitStopsNobody)
{
    for (auto const& bytes : {std::string("{}"), of_another_run(17)}) {
        site = Site({{{"A"}, 0x11}, run, 0});
        objects = whole;
        change = [&] { objects[commit_name({17})] = bytes; };
        (void)serve(Tick{});
        EXPECT_TRUE(site.status().member);
    }
}

TEST_F(ChangedStore, AForeignObjectFarAheadStopsNoProcessThatHasStarted)
{
    change = [this] { objects[commit_name({64})] = "{}"; };
    (void)serve(Tick{});
    EXPECT_TRUE(site.status().member);
    EXPECT_TRUE(is_whole());
    EXPECT_THAT(notes, ElementsAre(R"(foreign-commit{"commit":64})"));
}

TEST_F(ChangedStore, TheTipIsCreatedAgain)
{
    change = [this] { lose(14, 14); };
    (void)serve(Tick{});
    EXPECT_TRUE(site.status().member);
    EXPECT_TRUE(is_whole());
    EXPECT_THAT(notes, ElementsAre(R"(commits-restored{"first":14,"last":14})"));
}

TEST_F(ChangedStore, AllNewerCommitsAreCreatedAgainTheNewestFirst)
{
    keep_copies();
    change = [this] { lose(10, 14); };
    (void)serve(Tick{});
    EXPECT_TRUE(site.status().member);
    EXPECT_TRUE(is_whole());
    creates.resize(5);
    EXPECT_THAT(creates, ElementsAre(commit_name({14}), commit_name({13}), commit_name({12}),
                                     commit_name({11}), commit_name({10})));
}

TEST_F(ChangedStore, NothingIsCreatedBesideAnotherHistory)
{
    keep_copies();
    change = [this] {
        lose(10, 14);
        admit(99);  // another commit 10
    };
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr("not the commit that this site has read"));
    EXPECT_EQ(commits().size(), 10U);
}

TEST_F(ChangedStore, AnotherHistoryThatBeginsDuringTheRepairEndsTheProcess)
{
    keep_copies();
    change = [this] { lose(10, 14); };
    change_at_create = [this] { admit(99); };  // another commit 10
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr(commit_name({10}) + " in the store is not"));
    EXPECT_THAT(notes, IsEmpty());
}

TEST_F(ChangedStore, AnotherSiteMayCreateTheSameCommitsAgain)
{
    keep_copies();
    change = [this] { lose(10, 14); };
    change_at_create = [this] { objects = whole; };
    (void)serve(Tick{});
    EXPECT_TRUE(site.status().member);
    EXPECT_THAT(notes, ElementsAre(R"(commits-restored{"first":10,"last":14})"));
}

TEST_F(ChangedStore, AnotherCommitInPlaceOfTheTipEndsTheProcess)
{
    change = [this] {
        lose(14, 14);
        admit(99);
    };
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr(commit_name({14}) + " in the store is not"));
    EXPECT_EQ(commits().size(), 14U);
}

class BesideAForeignObject : public ChangedStore {
  protected:
    BesideAForeignObject()
    {
        change = [this] { objects[commit_name({64})] = "{}"; };
    }
    std::optional<Input> work(Output const& output) override
    {
        auto const* note = std::get_if<Note>(&output);
        bool const is_known = note != nullptr && note->type == "foreign-commit";
        if (is_known && then) std::exchange(then, nullptr)();
        return LostCommits::work(output);
    }
    std::function<void()> then;  ///< happens once the process knows of the foreign object
};

TEST_F(BesideAForeignObject, TheProcessSeesThatTheNextCommitIsLost)
{
    then = [this] {
        admit(101);
        admit(102);
        lose(15, 15);
    };
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr(commit_name({15})));
    EXPECT_FALSE(objects.contains(commit_name({15}))) << "the number is that of another commit";
}

TEST_F(BesideAForeignObject, TheProcessSeesAnObjectOfTheSameNumberAfterItsRemoval)
{
    then = [this] {
        objects.erase(commit_name({64}));
        for (int i = 101; i < 160; ++i) admit(i);
        lose(15, 62);
    };
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_FALSE(objects.contains(commit_name({15})));
}

TEST_F(ChangedStore, WithoutCopiesTheProcessWaitsAndExits)
{
    change = [this] { lose(10, 14); };
    auto const error = exit_error(serve(Tick{}));
    EXPECT_EQ(error.code, ExitCode::protocol);
    EXPECT_THAT(error.message(), HasSubstr(commit_name({10}) + " to " + commit_name({14})));
    EXPECT_EQ(commits().size(), 9U);
}

}  // namespace
}  // namespace curtail::protocol::test
