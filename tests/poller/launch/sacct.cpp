// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/sacct.hpp"

#include <gtest/gtest.h>

namespace curtail::launch {
namespace {

using End = plan::Job::End;

constexpr char const* name = "curtail.demo.SPP_TX.1f2e3d4c";

Marks const marks{"", "", "|1|"};
Time at(std::int64_t seconds) { return Time{Seconds{seconds}}; }

MissingJob missing(std::string const& id = "7")
{
    return {.job = {{id}, {"i1795395990000"}, at(1795395995)},
            .started = at(1795396000),
            .last_sign = {},
            .now = at(1795396100)};
}

// The fields of a record as sacct prints them for this call.
std::string with_marks(std::string const& fields)
{
    std::string text;
    for (char const c : fields)
        text += c == '|' ? marks.separator : c == '\n' ? marks.separator + "\n" : std::string(1, c);
    return text;
}

std::string const header = with_marks("JobID|State|ExitCode|Submit|Start|End|JobName\n");

// A record of the job `name`, given its fields without submission and name.
std::string record(std::string fields, std::string const& submitted = "1795395995")
{
    auto at = fields.find('|');
    for (int i = 0; i < 2 && at != std::string::npos; ++i) at = fields.find('|', at + 1);
    if (at != std::string::npos) fields.insert(at, "|" + submitted);
    return with_marks(fields + "|" + name + "\n");
}

std::optional<plan::Job> find(std::string const& fields, std::string const& id = "7")
{
    auto const text = header +
                      with_marks("6|COMPLETED|0:0|1795395995|1795396000|1795396057|other\n") +
                      record(fields);
    return find_in_sacct(text, marks, SacctSource::accounting, missing(id), name).value();
}

struct Case {
    char const* fields;
    End end;
    int exit_code;
};

TEST(Sacct, TheStateSaysHowAJobEnded)
{
    for (auto const& [fields, end, exit_code] :
         {Case{"7|COMPLETED|0:0|1795396000|1795396057", End::clean, 0},
          {"7|FAILED|3:0|1795396000|1795396057", End::failed, 3},
          {"7|CANCELLED by 1000|0:15|1795396000|1795396057", End::cancelled, 143},
          {"7|CANCELLED|0:0|1795396000|1795396057", End::cancelled, 0},
          {"7|TIMEOUT|0:0|1795396000|1795396057", End::failed, 0},
          {"7|PREEMPTED|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|NODE_FAIL|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|NODE_FAIL|1:0|1795396000|1795396057", End::displaced, 1},
          {"7|BOOT_FAIL|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|REVOKED|0:0|1795396000|1795396057", End::displaced, 0},
          {"7|OUT_OF_MEMORY|0:125|1795396000|1795396057", End::failed, 253},
          {"7|DEADLINE|0:15|1795396000|1795396057", End::failed, 143}}) {
        auto const job = find(fields);
        ASSERT_TRUE(job) << fields;
        EXPECT_EQ(job->end, end) << fields;
        EXPECT_EQ(job->exit_code, exit_code) << fields;
        EXPECT_EQ(job->started, Time{Seconds{1795396000}}) << fields;
        EXPECT_EQ(job->ended, Time{Seconds{1795396057}}) << fields;
    }
}

TEST(Sacct, AJobThatWasCancelledInTheQueueNeverStarted)
{
    for (auto const* times : {"1795396057|1795396057", "None|1795396057", "Unknown|1795396057"}) {
        auto const job = find(std::string("7|CANCELLED|0:0|") + times);
        ASSERT_TRUE(job) << times;
        EXPECT_FALSE(job->started) << times;
    }
}

TEST(Sacct, AJobThatMissesItsDeadlineInTheQueueNeverStarted)
{
    auto const job = find("7|DEADLINE|0:1|1795396057|1795396057");
    ASSERT_TRUE(job);
    EXPECT_FALSE(job->started);
    EXPECT_FALSE(job->exit_code) << "no process has ended";
}

TEST(Sacct, TimesAndExitCodesThatSlurmDoesNotKnowAreUnknown)
{
    auto const job = find("7|FAILED||Unknown|None");
    ASSERT_TRUE(job);
    EXPECT_EQ(job->end, End::failed);
    EXPECT_FALSE(job->exit_code);
    EXPECT_FALSE(job->started);
    EXPECT_FALSE(job->ended);
}

TEST(Sacct, NamesWhoCancelledAJob)
{
    EXPECT_EQ(find("7|CANCELLED by 0|0:0|1795396000|1795396057")->cancelled_by, "root");
    EXPECT_EQ(find("7|CANCELLED by 4000000|0:0|1795396000|1795396057")->cancelled_by, "4000000");
    EXPECT_EQ(find("7|CANCELLED|0:0|1795396000|1795396057")->cancelled_by, "");
}

TEST(Sacct, ListsTheAccountsOfAllJobsOfTheName)
{
    auto const text = with_marks(
        std::string("JobIDRaw|State|ExitCode|Submit|Start|End|JobName|ElapsedRaw|") +
        "ConsumedEnergyRaw\n" + "6|COMPLETED|0:0|1795395995|1795396000|1795396057|other|57|100\n" +
        "7|COMPLETED|0:0|1795395995|1795396000|1795396057|" + name + "|50|4500000\n" +
        "8|RUNNING|0:0|1795395995|1795396000|Unknown|" + name + "|9|0\n");
    auto const jobs = parse_accounts(text, marks, name).value();
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(jobs[0].job, "7");
    EXPECT_EQ(jobs[0].state, "COMPLETED");
    EXPECT_EQ(jobs[0].elapsed, Seconds{50}) << "it was suspended for 7 s";
    EXPECT_EQ(jobs[0].consumed_j, 4'500'000);
    EXPECT_EQ(jobs[1].job, "8");
    EXPECT_FALSE(jobs[1].ended);
    EXPECT_FALSE(parse_accounts(header, marks, name)) << "these are not the fields";
}

TEST(Sacct, KnowsNoEnergyWithoutAPluginThatMetersIt)
{
    auto const header_of_accounts = with_marks(
        "JobIDRaw|State|ExitCode|Submit|Start|End|JobName|ElapsedRaw|ConsumedEnergyRaw\n");
    for (auto const* energy : {"", "0", "18446744073709551614", "18446744073709551615", "1.2K"}) {
        auto const row = with_marks("7|COMPLETED|0:0|1795395995|1795396000|1795396057|" +
                                    std::string(name) + "|57|" + energy + "\n");
        EXPECT_FALSE(parse_accounts(header_of_accounts + row, marks, name).value()[0].consumed_j)
            << energy;
    }
}

TEST(Sacct, AStepOfTheJobIsNotTheJob)
{
    EXPECT_FALSE(find("7.batch|COMPLETED|0:0|1795396000|1795396057"));
    EXPECT_FALSE(find("77|COMPLETED|0:0|1795396000|1795396057"));
}

TEST(Sacct, OnlyAnEndedJobOfThisNameAndNumberCounts)
{
    EXPECT_FALSE(find("7|RUNNING|0:0|1795396000|Unknown"));
    EXPECT_FALSE(find("7|COMPLETED|0:0|1795396000|1795396057", "8"));
    EXPECT_FALSE(find("8|COMPLETED|0:0|1795396000|1795396057", "6")) << "job 6 has another name";
}

TEST(Sacct, OutputWithoutHeaderOrWithABrokenRecordIsAnError)
{
    auto const whole = record("7|COMPLETED|0:0|1795396000|1795396057");
    auto const look = [&](std::string const& text) {
        return find_in_sacct(text, marks, SacctSource::accounting, missing(), name);
    };
    EXPECT_TRUE(look("Welcome\n" + header + "Maintenance on Friday\n" + whole + "Bye\n").value());
    for (auto const& text :
         {std::string(), std::string("Slurm accounting storage is disabled\n"), whole,
          header + "7" + marks.separator + "COMPLETED\n", header + whole.substr(0, 40)})
        EXPECT_EQ(look(text).error().code, ExitCode::data) << text;
}

class EachSource : public testing::TestWithParam<SacctSource> {
  protected:
    static Result<std::optional<plan::Job>> look(std::string const& text)
    {
        return find_in_sacct(header + text, marks, GetParam(), missing("45"), name);
    }
};

INSTANTIATE_TEST_SUITE_P(Sacct, EachSource,
                         testing::Values(SacctSource::accounting, SacctSource::completion_log));

TEST_P(EachSource, ARecordThatIsCutIsAnErrorWhereverItIsCut)
{
    auto const whole = record("45|COMPLETED|0:0|1795396000|1795396057");
    ASSERT_TRUE(look(whole).value());
    // Without the line break alone, nothing is missing.
    for (std::size_t size = 1; size < whole.size() - 1; ++size)
        EXPECT_FALSE(look(whole.substr(0, size))) << whole.substr(0, size);
    EXPECT_FALSE(look(whole.substr(0, whole.size() - 1) + whole)) << "two records in a line";
}

TEST_P(EachSource, ARecordThatIsNoJobIsAnError)
{
    for (auto const* fields :
         {"|COMPLETED|0:0|1795396000|1795396057", "4 5|COMPLETED|0:0|1795396000|1795396057",
          "45|COMPLETE|0:0|1795396000|1795396057", "45|abgeschlossen|0:0|1795396000|1795396057",
          "45||0:0|1795396000|1795396057", "45|COMPLETED|0|1795396000|1795396057",
          "45|COMPLETED|1:x|1795396000|1795396057", "45|COMPLETED|1:2:3|1795396000|1795396057",
          "45|COMPLETED|0:0|17953960|1795396057", "45|COMPLETED|0:0|1795396000|179539",
          "45|COMPLETED|0:0|2026-11-23T01:46:40|1795396057", "45|COMPLETED|0:0|1795396000",
          "45|COMPLETED|0:0|1795396000|1795396057|1795396058",
          "45|COMPLETED\x07|0:0|1795396000|1795396057"})
        EXPECT_FALSE(look(record(fields))) << fields;
    std::string const nul("45\0|COMPLETED|0:0|1795396000|1795396057", 38);
    EXPECT_FALSE(look(record(nul)));
}

TEST_P(EachSource, ANumberThatNoJobHasIsAnError)
{
    for (auto const* number : {"0", "-1"})
        EXPECT_FALSE(look(record(number + std::string("|COMPLETED|0:0|1795396000|1795396057"))))
            << number;
}

TEST_P(EachSource, TextOfAWrapperHidesNoRecord)
{
    auto const whole = record("45|COMPLETED|0:0|1795396000|1795396057");
    for (auto const& text : {"call 4711 | today\n" + whole, "5 nodes are down\n" + whole + "Bye",
                             whole + "\xff\x1b[m", std::string(100'000, '|') + "\n" + whole})
        EXPECT_TRUE(look(text).value()) << text.substr(0, 100);
    auto crlf = whole;
    crlf.insert(crlf.size() - 1, "\r");
    EXPECT_TRUE(look(crlf).value());
}

TEST(Sacct, ARecordOfAnEarlierJobWithThisNumberIsNotTheJob)
{
    auto const look = [&](std::string const& text, MissingJob const& job) {
        return find_in_sacct(header + text, marks, SacctSource::accounting, job, name).value();
    };
    auto const old = record("7|CANCELLED|0:0|1795395976|1795395984", "1795395976");
    auto const ours = record("7|FAILED|69:0|1795396000|1795396042");
    EXPECT_FALSE(look(old, missing()));
    for (auto const& text : {old + ours, ours + old})
        EXPECT_EQ(look(text, missing())->exit_code, 69) << "the order does not matter";
    auto unseen = missing();
    unseen.job.submitted.reset();
    unseen.started.reset();
    EXPECT_EQ(look(old + ours, unseen)->exit_code, 69) << "the newest counts";
    EXPECT_FALSE(look(record("7|FAILED|69:0|1795390000|1795390042", "1795390000"), unseen));
}

TEST(Sacct, TheCompletionLogMustHaveTheStartOfTheJobInSomeZone)
{
    auto const look = [&](std::int64_t started, std::int64_t ended, MissingJob const& job) {
        return find_in_sacct(header + record("7|FAILED|69:0|" + std::to_string(started) + "|" +
                                                 std::to_string(ended),
                                             std::to_string(started)),
                             marks, SacctSource::completion_log, job, name)
            .value();
    };
    for (std::int64_t const zone_s : {0, -18'000, 20'700, 50'400}) {
        auto const job = look(1795396000 + zone_s, 1795396042 + zone_s, missing());
        ASSERT_TRUE(job) << zone_s;
        EXPECT_EQ(job->started, at(1795396000)) << zone_s;
        EXPECT_EQ(job->ended, at(1795396042)) << zone_s;
        EXPECT_EQ(job->submitted, missing().job.submitted) << "the log has none";
    }
    EXPECT_FALSE(look(1795396019, 1795396042, missing())) << "another start";
    EXPECT_FALSE(look(1795396000 + 200'000, 1795396242, missing())) << "no zone is so far away";
    auto unseen = missing();
    unseen.started.reset();
    EXPECT_EQ(look(1795396000, 1795396042, unseen)->ended, at(1795396042));
    EXPECT_FALSE(look(1795396000 - 18'000, 1795396042 - 18'000, unseen))
        << "nothing proves the zone";
    EXPECT_FALSE(look(1795395976, 1795395984, unseen)) << "before the submission";
    unseen.now = at(1795396000 + 86'400);
    auto const late = look(1795396000, 1795396042, unseen);
    EXPECT_EQ(late->exit_code, 69);
    EXPECT_FALSE(late->ended) << "this can be the end in several zones";
}

}  // namespace
}  // namespace curtail::launch
