// SPDX-License-Identifier: Apache-2.0
#include "poll/book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/text.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SiteId const a{"A"};
Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }
plan::Action const submit{plan::Action::Kind::submit, {}, {"w1"}, {"i1"}, "open"};

class BookTest : public testing::Test {
  protected:
    BookTest()
    {
        run_.run = {"demo"};
        run_.folder = folder_.path();
        run_.sites.resize(1);
        run_.sites[0].site = a;
    }
    std::unique_ptr<Book> open(Book::Mode mode = Book::Mode::write, int second = 100)
    {
        auto book = Book::open(run_, mode, at(second));
        EXPECT_TRUE(book) << (book ? "" : book.error().message());
        return book ? std::move(*book) : nullptr;
    }
    std::vector<std::string> event_types()
    {
        std::vector<std::string> types;
        auto const file = runlog::read_events(run_.poller_folder() / "events.jsonl").value();
        for (auto const& event : file.events) types.push_back(event.type);
        return types;
    }
    std::string content(std::string const& name)
    {
        return read_file(run_.poller_folder() / name).value_or("none");
    }
    /// A poller that is killed leaves its files as they are at that moment.
    void restore(std::string const& name, std::string const& text)
    {
        ASSERT_TRUE(write_file(run_.poller_folder() / name, text));
    }

    /// Samples of every 300 s from `first` on.
    static std::vector<signals::Sample> samples(int first, int count)
    {
        std::vector<signals::Sample> made;
        for (int i = first; i < first + count; ++i)
            made.push_back(
                {at(300 * i), GramsPerKwh{100.0 + i}, "trace", signals::SignalType::marginal, {}, {}});
        return made;
    }

    test::TemporaryFolder folder_;
    config::Run run_;
};

TEST_F(BookTest, SecondPollerIsTurnedAway)
{
    auto const book = open();
    auto const second = Book::open(run_, Book::Mode::write, at(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::temporary);
    EXPECT_THAT(second.error().message(), HasSubstr("another poller is at work on run demo"));
    EXPECT_THAT(second.error().message(), HasSubstr("process " + std::to_string(getpid())));
    EXPECT_TRUE(Book::open(run_, Book::Mode::look, at(0))) << "looking needs no lock";
}

TEST_F(BookTest, RecordSurvivesARestart)
{
    SiteRecord wanted;
    wanted.window = {windows::Phase::closing, at(3)};
    wanted.evaluated_until = at(4);
    wanted.open_window = WindowId{"w1"};
    ASSERT_TRUE(open()->change(a, [&](SiteRecord& record, auto&) { record = wanted; }));
    EXPECT_EQ(open()->site(a), wanted);
}

TEST_F(BookTest, LazyChangeWaitsForTheNextOne)
{
    auto book = open();
    auto const before = content("state.json");
    ASSERT_TRUE(book->change(
        a, [](SiteRecord& record, auto&) { record.evaluated_until = at(7); }, true));
    EXPECT_EQ(content("state.json"), before);
    ASSERT_TRUE(book->save());
    book.reset();
    EXPECT_EQ(open()->site(a).evaluated_until, at(7));
}

TEST_F(BookTest, IntentOfADeadPollerIsInDoubt)
{
    ASSERT_TRUE(open()->intend(a, submit, at(1)));  // and dies before sbatch answers
    auto const jobs = open(Book::Mode::write, 50)->site(a).jobs;
    ASSERT_TRUE(jobs.intent);
    EXPECT_EQ(jobs.intent->id, submit.intent);
    EXPECT_EQ(jobs.intent->since, at(50));
    EXPECT_EQ(open(Book::Mode::write, 60)->site(a).jobs.intent->since, at(50));
}

TEST_F(BookTest, OutcomeThatStateDoesNotHoldYetComesFromTheJournal)
{
    auto book = open();
    auto const old_state = content("state.json");
    ASSERT_TRUE(book->intend(a, submit, at(1)));
    ASSERT_TRUE(book->conclude(a, submit, {plan::Outcome::Kind::done, {"7"}, {}}, at(2), {}));
    auto const wanted = book->site(a);
    book.reset();
    restore("state.json", old_state);
    restore("events.jsonl", "");
    EXPECT_EQ(open()->site(a), wanted);
    EXPECT_THAT(event_types(), ElementsAre("job-submitted"));
}

TEST_F(BookTest, WithoutItsStateABookTakesFromTheJournalOnlyWhatIsStillOpen)
{
    plan::Action const again{plan::Action::Kind::submit, {}, {"w2"}, {"i2"}, "open"};
    auto const lived = [&](std::string const& job) {
        return [job](SiteRecord& record, std::vector<runlog::Event>& events) {
            record.jobs.jobs.clear();
            events.push_back({at(3), "job-ended", "", {{"window", "w1"}, {"job", job}}});
        };
    };
    auto book = open();
    ASSERT_TRUE(book->intend(a, submit, at(1)));
    ASSERT_TRUE(book->conclude(a, submit, {plan::Outcome::Kind::done, {"7"}, {}}, at(2), {}));
    ASSERT_TRUE(book->change(a, lived("7")));
    ASSERT_TRUE(book->intend(a, again, at(4)));  // and dies
    book.reset();
    std::filesystem::remove(run_.poller_folder() / "state.json");
    book = open();
    EXPECT_TRUE(book->site(a).jobs.jobs.empty()) << "job 7 is over";
    ASSERT_TRUE(book->site(a).jobs.intent);
    EXPECT_EQ(book->site(a).jobs.intent->id, again.intent);
    EXPECT_THAT(event_types(), ElementsAre("job-submitted", "job-ended"));
    ASSERT_TRUE(book->conclude(a, again, {plan::Outcome::Kind::done, {"8"}, {}}, at(5), {}));
    EXPECT_THAT(event_types(), ElementsAre("job-submitted", "job-ended", "job-submitted"));
    EXPECT_THAT(content("events.jsonl"), HasSubstr("\"number\":3"));
    EXPECT_THAT(content("journal.jsonl"), HasSubstr("{\"number\":4,"));
    book.reset();
    std::filesystem::remove(run_.poller_folder() / "state.json");
    EXPECT_EQ(open()->site(a).jobs.jobs.at(0).id.value, "8") << "nothing says that it has ended";
    EXPECT_EQ(open()->site(a).jobs.jobs.at(0).intent, again.intent);
}

TEST_F(BookTest, EachEventIsWrittenOnceWhereverThePollerDies)
{
    auto book = open();
    auto const change = [&](int second) {
        ASSERT_TRUE(book->change(a, [&](SiteRecord& record, std::vector<runlog::Event>& events) {
            record.evaluated_until = at(second);
            events.push_back({at(second), "decision", "", {}});
            events.push_back({at(second), "window-open", "", {}});
        }));
    };
    change(1);
    auto const after_one = content("events.jsonl");
    change(2);
    auto const state = content("state.json");
    auto const events = content("events.jsonl");
    book.reset();
    // Killed after the state was written: none, one or both of its events had been appended, or one
    // and a half.
    auto const first_line = events.find('\n', after_one.size()) + 1;
    for (auto const length : {after_one.size(), first_line, first_line + 10, events.size()}) {
        restore("state.json", state);
        restore("events.jsonl", events.substr(0, length));
        book = open();
        change(3);
        book.reset();
        EXPECT_THAT(event_types(), ElementsAre("decision", "window-open", "decision", "window-open",
                                               "decision", "window-open"))
            << "killed at byte " << length;
    }
}

TEST_F(BookTest, LineCutShortInTheJournalIsSkipped)
{
    auto book = open();
    ASSERT_TRUE(book->intend(a, submit, at(1)));
    book.reset();
    restore("journal.jsonl", content("journal.jsonl") + "{\"number\":2,\"ti");
    book = open();
    EXPECT_TRUE(book->site(a).jobs.intent);
    ASSERT_TRUE(book->conclude(a, submit, {plan::Outcome::Kind::done, {"7"}, {}}, at(2), {}));
    book.reset();
    EXPECT_EQ(open()->site(a).jobs.jobs.at(0).id.value, "7");
}

TEST_F(BookTest, EachSampleIsRecordedOnceWhereverThePollerDies)
{
    auto book = open();
    ASSERT_TRUE(book->record({"R"}, samples(0, 3)));
    ASSERT_TRUE(book->record({"S"}, samples(0, 1)));
    ASSERT_TRUE(book->record({"R"}, samples(1, 3)));
    auto const whole = content("signals.jsonl");
    auto const line = [](char const* region, int second, int grams) {
        return "{\"region\":\"" + std::string(region) + "\",\"time\":\"" + format_time(at(second)) +
               "\",\"intensity_gco2_per_kwh\":" + std::to_string(grams) +
               ".0,\"provider\":\"trace\"}\n";
    };
    EXPECT_EQ(whole, line("R", 0, 100) + line("R", 300, 101) + line("R", 600, 102) +
                         line("S", 0, 100) + line("R", 900, 103));
    for (auto const kept : {whole.size(), whole.size() - 1, whole.size() - 20, whole.size() / 2}) {
        book.reset();
        restore("signals.jsonl", whole.substr(0, kept));
        book = open();
        ASSERT_TRUE(book->record({"R"}, samples(0, 4)));
        ASSERT_TRUE(book->record({"S"}, samples(0, 1)));
        std::multiset<std::string> lines;
        auto const text = content("signals.jsonl");
        for (auto const one : split(text, '\n'))
            if (one.ends_with('}')) lines.insert(std::string(one) + "\n");
        EXPECT_EQ(lines, (std::multiset<std::string>{line("R", 0, 100), line("R", 300, 101),
                                                     line("R", 600, 102), line("R", 900, 103),
                                                     line("S", 0, 100)}))
            << "killed at byte " << kept << ":\n"
            << text;
    }
}

TEST_F(BookTest, SampleWithoutAValueIsRecordedAsSuchAndALongRecordIsStillContinued)
{
    auto book = open();
    ASSERT_TRUE(book->record({"R"}, std::vector{signals::Sample{
                                        at(0), {}, "watttime", signals::SignalType::marginal, {}, {}}}));
    EXPECT_THAT(content("signals.jsonl"),
                HasSubstr("\"intensity_gco2_per_kwh\":null,\"provider\":\"watttime\""));
    ASSERT_TRUE(book->record({"R"}, samples(1, 5000)));
    book.reset();
    auto const size = content("signals.jsonl").size();
    book = open();
    ASSERT_TRUE(book->record({"R"}, samples(4990, 11)));
    EXPECT_EQ(content("signals.jsonl").size(), size);
}

TEST_F(BookTest, FolderIsItsOwnersAlone)
{
    open().reset();
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(run_.poller_folder()).permissions(), perms::owner_all);
    std::filesystem::permissions(run_.poller_folder(), perms::group_all,
                                 std::filesystem::perm_options::add);
    auto const book = Book::open(run_, Book::Mode::write, at(0));
    ASSERT_FALSE(book);
    EXPECT_EQ(book.error().code, ExitCode::permission);
    EXPECT_THAT(book.error().message(), HasSubstr("chmod 700"));
}

TEST_F(BookTest, LongJournalIsPutAside)
{
    Journal const journal(folder_ / "journal.jsonl");
    ASSERT_TRUE(journal.append({1, at(0), a, submit, {}}));
    ASSERT_TRUE(journal.rotate(1 << 20));
    EXPECT_EQ(journal.read(0)->size(), 1U);
    ASSERT_TRUE(journal.rotate(10));
    EXPECT_EQ(journal.read(0)->size(), 0U);
    EXPECT_EQ(Journal(folder_ / "journal.1.jsonl").read(0)->at(0).action, submit);
}

TEST_F(BookTest, LookingWritesNothing)
{
    {
        auto const book = open(Book::Mode::look);
        ASSERT_TRUE(book->change(a, [](SiteRecord& record, auto& events) {
            record.evaluated_until = at(1);
            events.push_back({at(1), "decision", "", {}});
        }));
        ASSERT_TRUE(book->record({"R"}, samples(0, 1)));
        ASSERT_TRUE(book->save());
    }
    EXPECT_FALSE(std::filesystem::exists(run_.poller_folder()));
}

TEST_F(BookTest, DamagedStateSaysWhatToDo)
{
    open().reset();
    restore("state.json", "{\"format\":1,\"lst_entry\":0}");
    auto const book = Book::open(run_, Book::Mode::write, at(0));
    ASSERT_FALSE(book);
    EXPECT_THAT(book.error().message(), HasSubstr("found again by their names"));
}

}  // namespace
}  // namespace curtail::poll
