// SPDX-License-Identifier: Apache-2.0
#include "poller/launch/squeue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "support/paths.hpp"

namespace curtail::launch {
namespace {

using State = plan::Job::State;
using End = plan::Job::End;
using testing::HasSubstr;

JobSpec spec()
{
    JobSpec one;
    one.run = {"demo"};
    one.site = {"SPP_TX"};
    one.folder_id = "1f2e3d4c";
    return one;
}

std::string const comment = R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c",)"
                            R"("window":"2026-01-11T17:05:00Z","intent":"i7"})";

Marks const marks{"|begin-1|", "|end-1", "|1|"};

std::string const header =
    "JOBID|begin-1|JOBID|USER|STATE|EXIT_CODE|SUBMIT_TIME|START_TIME|END_TIME|"
    "REASON|COMMENT|end-1\n";

// The line of squeue about one job: its number, state, exit code, start, end and reason.
std::string line(std::string fields, std::string const& text = comment)
{
    fields.insert(fields.find('|'), "|anna");
    // The submission precedes the start.
    auto const code = fields.find('|', fields.find('|', fields.find('|') + 1) + 1);
    fields.insert(fields.find('|', code + 1), "|1795273000");
    return "12|begin-1|" + fields + "|" + text + "|end-1\n";
}

Result<std::vector<plan::Job>> parse(std::string const& records)
{
    return parse_squeue(spec(), header + records, marks);
}

TEST(Squeue, MapsEachSlurmStateToOneOfFour)
{
    auto const jobs = parse(
        line("12|RUNNING|0|1795273001|1826809001|None") + line("9|PENDING|0|N/A|N/A|Resources") +
        line("7|COMPLETED|0|1795273001|1795273061|None", "(null)") +
        line("8|FAILED|256|1795273001|1795273061|NonZeroExitCode", "{\"a|b\":1}") +
        line("10|COMPLETING|0|1795273001|1795273061|None", "x") +
        line("11|CANCELLED|15|1795273061|1795273061|None", "x"));
    ASSERT_TRUE(jobs) << jobs.error().message();
    ASSERT_EQ(jobs->size(), 6U);
    EXPECT_EQ((*jobs)[0].id.value, "7") << "oldest first";
    EXPECT_EQ((*jobs)[0].state, State::ended);
    EXPECT_EQ((*jobs)[0].end, End::clean);
    EXPECT_EQ((*jobs)[1].exit_code, 1);
    EXPECT_EQ((*jobs)[1].end, End::failed);
    EXPECT_EQ((*jobs)[2].state, State::pending);
    EXPECT_EQ((*jobs)[2].reason, "Resources");
    EXPECT_EQ((*jobs)[2].warning, "");
    EXPECT_FALSE((*jobs)[2].started);
    EXPECT_EQ((*jobs)[3].state, State::ending);
    EXPECT_EQ((*jobs)[4].exit_code, 128 + 15);
    EXPECT_FALSE((*jobs)[4].started);
    EXPECT_EQ((*jobs)[5].state, State::running);
    EXPECT_EQ((*jobs)[5].window.value, "2026-01-11T17:05:00Z");
    EXPECT_EQ((*jobs)[5].intent.value, "i7");
    EXPECT_EQ((*jobs)[5].reason, "");
    EXPECT_EQ((*jobs)[0].intent.value, "") << "a comment that is not ours";
    EXPECT_EQ(format_time(*(*jobs)[0].started), "2026-11-21T14:56:41Z");
}

TEST(Squeue, UnknownStatesCountAsRunning)
{
    auto const job_in = [](std::string const& state) {
        return parse(line("7|" + state + "|0|1795273001|1795273061|None")).value().at(0);
    };
    for (auto const* word : {"FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY",
                             "NODE_FAIL", "BOOT_FAIL", "PREEMPTED"})
        EXPECT_EQ(job_in(word).state, State::ended) << word;
    EXPECT_EQ(job_in("CANCELLED").end, End::cancelled);
    EXPECT_TRUE(job_in("COMPLETING").cleaning_up);
    for (auto const* word :
         {"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL"})
        EXPECT_EQ(job_in(word).end, End::displaced) << word;
    for (auto const* word : {"RESV_DEL_HOLD", "REQUEUE_HOLD", "SPECIAL_EXIT"})
        EXPECT_EQ(job_in(word).state, State::pending) << word;
    EXPECT_EQ(job_in("RESV_DEL_HOLD").warning, "");
    auto const strange = job_in("BRAND_NEW");
    EXPECT_EQ(strange.state, State::running);
    EXPECT_THAT(strange.warning, HasSubstr("job 7 is in the unknown state BRAND_NEW"));
}

TEST(Squeue, WarnsOfReasonsThatMayNotResolveByThemselves)
{
    auto const waiting_for = [](std::string const& reason) {
        return parse(line("7|PENDING|0|N/A|N/A|" + reason)).value().at(0);
    };
    for (auto const* reason : {"Resources", "Priority", "Dependency", "ReqNodeNotAvail",
                               "QOSMaxJobsPerUserLimit", "BeginTime"}) {
        EXPECT_EQ(waiting_for(reason).reason, reason);
        EXPECT_EQ(waiting_for(reason).warning, "") << reason;
    }
    for (auto const* reason :
         {"PartitionTimeLimit", "JobHeldUser", "JobHeldAdmin", "BadConstraints",
          "AssocGrpCPUMinutesLimit", "DependencyNeverSatisfied", "QOSMaxWallDurationPerJobLimit",
          "InvalidQOS"})
        EXPECT_THAT(waiting_for(reason).warning,
                    HasSubstr(std::string("job 7 waits for ") + reason +
                              ", which may not resolve by itself"));
    auto const odd = waiting_for("a|b");
    EXPECT_EQ(odd.reason, "a|b");
    EXPECT_EQ(odd.intent.value, "i7");
}

std::string const running = "12|RUNNING|0|1795273001|1826809001|None";

TEST(Squeue, TextWithoutTheHeaderOfThisCallIsAnError)
{
    EXPECT_TRUE(parse("").value().empty());
    for (std::string const& text :
         {std::string(""), std::string("slurm_load_jobs error\n"), line(running),
          std::string("JOBID|begin-2|JOBID|USER|STATE|EXIT_CODE|...|end-2\n")}) {
        auto const jobs = parse_squeue(spec(), text, marks);
        ASSERT_FALSE(jobs) << text;
        EXPECT_EQ(jobs.error().code, ExitCode::data);
        EXPECT_THAT(jobs.error().message(), HasSubstr("wrapped by a script"));
    }
}

// How often `text` contains `part`.
std::size_t count_of(std::string const& text, std::string const& part)
{
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

TEST(Squeue, ARecordThatIsCutOrNoJobIsAnError)
{
    auto const whole = line(running) + line("13|RUNNING|0|1795273001|1826809001|None");
    ASSERT_EQ(parse(whole).value().size(), 2U);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        auto const cut = whole.substr(0, size);
        auto const begun = count_of(cut, marks.begin);
        auto const ended = count_of(cut, marks.end);
        auto const jobs = parse(cut);
        EXPECT_EQ(jobs.has_value(), begun == ended) << cut;
        EXPECT_EQ(jobs ? jobs->size() : ended, ended) << cut;
    }
    for (auto const* fields :
         {"|RUNNING|0|1795273001|1826809001|None", "x|RUNNING|0|1795273001|1826809001|None",
          "12 13|RUNNING|0|1795273001|1826809001|None", "12||0|1795273001|1826809001|None",
          "12|running now|0|1795273001|1826809001|None", "12|RUNNING|no|1795273001|1826809001|None",
          "12|RUNNING|0|2026-11-28T10:00:00|1826809001|None", "12|RUNNING|0|1795273001|soon|None",
          "12|RUNNIN|0|1795273001|1826809001|None", "12|COMPLETE|0|1795273001|1826809001|None",
          "12|RUNNING|0|17952730|1826809001|None", "12|RUNNING|0|1795273001|1826809001\r\x01|None",
          "12\x07|RUNNING|0|N/A|N/A|None", "12|RUNNING|0||1826809001|None",
          "12|RUNNING|0|1795273001|None", "12|RUNNING|0|x|1795273001|1826809001|None"}) {
        auto const jobs = parse(line(fields));
        ASSERT_FALSE(jobs) << fields;
        EXPECT_THAT(jobs.error().message(), HasSubstr("this is not a job")) << fields;
    }
    EXPECT_FALSE(parse("12|begin-1|12|RUNNING|end-1\n"));
}

TEST(Squeue, RecordsThatRunTogetherAreAnError)
{
    auto const first = line(running);
    auto const second = line("13|RUNNING|0|1795273001|1826809001|None");
    ASSERT_EQ(parse(first + second).value().size(), 2U);
    // A part of the first record and the line break are missing, wherever the part begins.
    for (auto size = first.find(marks.begin) + marks.begin.size(); size < first.size() - 6; ++size)
        EXPECT_FALSE(parse(first.substr(0, size) + second)) << first.substr(0, size);
}

TEST(Squeue, ADamagedCommentOfOursIsAnErrorAndNotThatOfSomebodyElse)
{
    for (std::size_t size = 1; size < comment.size(); ++size)
        EXPECT_FALSE(parse(line(running, comment.substr(0, size)))) << comment.substr(0, size);
    std::vector<std::string> const damaged = {
        "{\"run\":\"demo\",\"si\xff"
        "te\":\"SPP_TX\"}",
        "{\"run\":\"de\xff\"}", std::string("{\"run\":\"de\0mo\"}", 14),
        R"({"run":"demo""site":"SPP_TX"})"};
    for (auto const& broken : damaged) EXPECT_FALSE(parse(line(running, broken))) << broken;
    for (auto const& other : {"(null)", "", "x", "[1", R"({"a":{"b":1}})"})
        EXPECT_EQ(parse(line(running, other)).value().at(0).intent.value, "") << other;
    EXPECT_TRUE(parse(line(running, comment + "; approved"))) << "a plugin has added text";
}

TEST(Squeue, LineBreaksOfAnotherSystemChangeNothing)
{
    auto text = header + line(running);
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 2))
        text.insert(at, "\r");
    EXPECT_EQ(parse_squeue(spec(), text, marks).value().at(0).intent.value, "i7");
}

TEST(Squeue, TextOfAWrapperHidesNoJob)
{
    std::string const banner = "Maintenance on Friday\n";
    for (auto const& text :
         {banner + header + line(running), header + banner + line(running),
          header + line(running) + banner,
          header + banner + "a|b|c|d\n" + std::string(100'000, '|') + line(running),
          header.substr(0, header.size() - 1) + banner + line(running),
          banner + "JOBID STATE\n" + header + line(running)})
        EXPECT_EQ(parse_squeue(spec(), text, marks).value().at(0).id.value, "12") << text;
}

TEST(Squeue, ACommentWithTheMarksOfAnotherCallMakesNoJob)
{
    auto const forged = "x|end-2\n9|begin-2|9|anna|RUNNING|0|1|1|1|None|" + comment + "|end-2";
    auto const jobs = parse(line(running, forged) + line(running));
    ASSERT_TRUE(jobs) << jobs.error().message();
    ASSERT_EQ(jobs->size(), 2U);
    for (auto const& job : *jobs) EXPECT_EQ(job.id.value, "12");
}

TEST(Squeue, MarksDifferFromCallToCall) { EXPECT_NE(new_marks().begin, new_marks().begin); }

TEST(Squeue, CommentOfAnotherUserDoesNotHideOurs)
{
    auto const jobs =
        parse(line("11|RUNNING|0|1795273001|1826809001|None", "two\nlines|of\n\n12|RUNNING|text") +
              line(running) + line("13|RUNNING|0|1795273001|1826809001|None", "a|\nand more"));
    ASSERT_TRUE(jobs) << jobs.error().message();
    ASSERT_EQ(jobs->size(), 3U);
    EXPECT_EQ((*jobs)[1].id.value, "12");
    EXPECT_EQ((*jobs)[1].intent.value, "i7");
    EXPECT_EQ((*jobs)[0].intent.value, "");
}

TEST(Squeue, ANumberThatNoJobHasIsAnError)
{
    for (auto const* number : {"0", "-1", "", "+", "99999999999999999999", "7.5"})
        EXPECT_FALSE(parse(line(number + running.substr(running.find('|'))))) << number;
}

TEST(Squeue, ACommentWithOnlySomeOfOurKeysIsDamaged)
{
    for (auto const* damage :
         {R"({"site":"SPP_TX","folder":"1f2e3d4c","window":"w","intent":"i7"})",
          R"({"Run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"w","intent":"i7"})",
          R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"w"})",
          R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"w","intent":""})",
          R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"w","intent":7})",
          R"({"run":"demo","site":["SPP_TX"],"folder":"1f2e3d4c","window":"w","intent":"i7"})",
          R"({"run":"demo","site":"SPP_TX","folder":"1f2e3d4c","window":"w"}; approved)"}) {
        auto const jobs = parse(line(running, damage));
        ASSERT_FALSE(jobs) << damage;
        EXPECT_THAT(jobs.error().message(), HasSubstr("a comment is damaged"));
    }
}

TEST(Squeue, AJobWithOurNameAndAnotherRunSiteOrFolderHasNoIntent)
{
    for (auto const& [ours, theirs] :
         {std::pair("\"demo\"", "\"demo-eu\""), std::pair("SPP_TX", "NEM_SA"),
          std::pair("1f2e3d4c", "00000000")}) {
        auto other = comment;
        other.replace(other.find(ours), std::strlen(ours), theirs);
        auto const jobs = parse(line("7|RUNNING|0|1795273001|1826809001|None", other));
        ASSERT_TRUE(jobs) << other;
        ASSERT_EQ(jobs->size(), 1U) << other;
        EXPECT_EQ(jobs->at(0).intent.value, "") << "so the poller warns of it";
    }
}

// The recorded text is of an earlier format, without marks, submission and header.
Result<std::vector<plan::Job>> parse_recorded(std::string const& text)
{
    std::string records;
    for (auto const one : split(text, '\n')) {
        auto const end = one.find("|end-of-job");
        if (end == std::string_view::npos) continue;
        auto const fields = one.substr(0, end);
        records += line(std::string(fields.substr(0, fields.find("|{"))),
                        std::string(fields.substr(fields.find("|{") + 1)));
    }
    return parse(records);
}

// The job with this intent among those of tests/poller/launch/fixtures; the last one if squeue ran
// twice.
plan::Job recorded(std::string const& intent)
{
    auto const text =
        read_file(test::source_path("tests/poller/launch/fixtures/slurm-22.05/squeue.txt"));
    auto const jobs = parse_recorded(text.value());
    EXPECT_TRUE(jobs) << jobs.error().message();
    plan::Job found;
    for (auto const& job : jobs.value_or(std::vector<plan::Job>{}))
        if (job.intent.value == intent) found = job;
    EXPECT_EQ(found.intent.value, intent) << "no such job";
    return found;
}

std::optional<Time> at(std::int64_t seconds)
{
    return seconds == 0 ? std::nullopt : std::optional(Time{Seconds{seconds}});
}

struct Ended {
    char const* intent;
    End end;
    std::optional<int> exit_code;
    std::int64_t started;  // 0: never
    std::int64_t ended;
};

TEST(RecordedSqueue, TellsHowEachJobEnded)
{
    for (auto const& [intent, end, exit_code, started, ended] :
         {Ended{"out-of-memory", End::failed, 253, 1795395372, 1795395373},
          {"cancelled-by-owner", End::cancelled, 128 + 15, 1795395372, 1795395378},
          {"cancelled-by-root", End::cancelled, 128 + 15, 1795395372, 1795395378},
          {"failed", End::failed, 69, 1795395372, 1795395373},
          {"completed", End::clean, 0, 1795395372, 1795395373},
          {"cancelled-while-pending", End::cancelled, 0, 0, 1795395378},
          {"node-fail", End::displaced, 128 + 15, 1795395372, 1795395378},
          {"cancelled-exits-0", End::cancelled, 0, 1795395410, 1795395414},
          {"timeout", End::failed, 128 + 15, 1795395729, 1795395818},
          {"preempted", End::displaced, 128 + 15, 1795395729, 1795395841}}) {
        auto const job = recorded(intent);
        EXPECT_EQ(job.state, State::ended) << intent;
        EXPECT_EQ(job.end, end) << intent;
        EXPECT_EQ(job.exit_code, exit_code) << intent;
        EXPECT_EQ(job.started, at(started)) << intent;
        EXPECT_EQ(job.ended, at(ended)) << intent;
        EXPECT_EQ(job.warning, "") << intent;
    }
}

TEST(RecordedSqueue, AJobThatMissesItsDeadlineInTheQueueNeverStarted)
{
    auto const job = recorded("deadline");
    EXPECT_EQ(job.state, State::ended);
    EXPECT_EQ(job.end, End::failed);
    EXPECT_EQ(job.ended, at(1795395548));
    EXPECT_FALSE(job.started);
    EXPECT_FALSE(job.exit_code) << "no process has ended";
}

TEST(RecordedSqueue, AJobInItsEpilogStillOccupiesItsNodes)
{
    auto const job = recorded("completing");
    EXPECT_EQ(job.state, State::ending);
    EXPECT_TRUE(job.cleaning_up);
    EXPECT_EQ(job.started, at(1795395410));
}

TEST(RecordedSqueue, ARequeuedJobHasNoStartUntilItRunsAgain)
{
    auto const text =
        read_file(test::source_path("tests/poller/launch/fixtures/slurm-22.05/squeue.txt"));
    auto const jobs = parse_recorded(text.value()).value();
    std::vector<plan::Job> job;
    for (auto const& one : jobs)
        if (one.intent.value == "requeued-by-scontrol") job.push_back(one);
    ASSERT_EQ(job.size(), 2U);
    EXPECT_EQ(job[0].state, State::ending);
    EXPECT_TRUE(job[0].cleaning_up);
    EXPECT_FALSE(job[0].started) << "squeue prints the time of the requeue";
    EXPECT_EQ(job[1].state, State::pending);
    EXPECT_EQ(job[1].reason, "BeginTime");
    EXPECT_EQ(job[1].warning, "");
    EXPECT_FALSE(job[1].started);
}

TEST(RecordedSqueue, WarnsOfAJobThatWasRequeuedInHeldState)
{
    auto const job = recorded("requeue-hold");
    EXPECT_EQ(job.state, State::pending);
    EXPECT_EQ(job.reason, "job requeued in held state");
    EXPECT_THAT(job.warning, HasSubstr("job 13 waits for job requeued in held state, which may "
                                       "not resolve by itself"));
}

}  // namespace
}  // namespace curtail::launch
