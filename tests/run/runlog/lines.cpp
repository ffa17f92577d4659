// SPDX-License-Identifier: Apache-2.0
// The lines of events.jsonl and metrics.jsonl as they are stored, and read back.
#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "run/runlog/evaluation.hpp"
#include "run/runlog/held_out.hpp"
#include "run/runlog/metrics.hpp"
#include "run/runlog/poller_events.hpp"
#include "run/runlog/trainer_events.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::runlog {

using windows::Phase;
using windows::PhaseChange;
using windows::Reason;

namespace {

Time const noon = parse_time("2026-01-11T12:00Z").value();
Time const later = parse_time("2026-01-11T12:05Z").value();

// The line that is appended for an event.
std::string line_of(Event const& event)
{
    test::TemporaryFolder const folder;
    auto const path = folder / "events.jsonl";
    EXPECT_TRUE(EventLog(path).append(event));
    return read_file(path).value();
}

TEST(Events, PartialLineIsCountedAndDoesNotAbsorbTheNext)
{
    test::TemporaryFolder const folder;
    auto const path = folder / "events.jsonl";
    ASSERT_TRUE(write_file(path, "{\"time\":\"2026"));
    ASSERT_TRUE(EventLog(path).append(
        {*parse_time("2026-01-11T17:05Z"), "window-open", "A", {{"intensity", 68.9}}}));
    auto const file = read_events(path);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->broken_lines.count, 1);
    ASSERT_EQ(file->events.size(), 1U);
    EXPECT_EQ(file->events[0].site, "A");
    EXPECT_EQ(file->events[0].details.find("intensity")->as_number(), 68.9);
}

TEST(Events, ALineWithoutTimeOrTypeIsBroken)
{
    test::TemporaryFolder const folder;
    auto const path = folder / "events.jsonl";
    ASSERT_TRUE(write_file(path,
                           "{\"type\":\"state\"}\n{\"time\":\"2026-01-11T12:00:00Z\"}\n"
                           "{\"time\":\"noon\",\"type\":\"state\"}\n[]\n\n"));
    auto const file = read_events(path).value();
    EXPECT_EQ(file.broken_lines.count, 4);
    EXPECT_TRUE(file.events.empty());
}

TEST(TrainerEvents, PayloadsReadAreStoredAndReadBack)
{
    PayloadsRead const read{3, {100}, {20}, "it has left"};
    auto const event = to_event(read, noon, "A");
    EXPECT_EQ(line_of(event),
              R"({"time":"2026-01-11T12:00:00Z","type":"payloads-read","site":"A","round":3,)"
              R"("mpi_bytes":100,"store_bytes":20,"why_store":"it has left"})"
              "\n");
    EXPECT_EQ(payloads_read_in(event), read);
    EXPECT_FALSE(payloads_read_in({noon, "swept", "A", {}}));
    // Anybody may write to a journal.
    EXPECT_EQ(payloads_read_in({noon, "payloads-read", "A", {{"mpi_bytes", -1}, {"why_store", 7}}}),
              (PayloadsRead{}));
}

TEST(PollerEvents, LinesAreStoredAsDocumented)
{
    using Type = JobChange::Type;
    std::vector<std::pair<Event, std::string>> const lines{
        {to_event(PhaseChange{later, Phase::closed, Phase::open, Reason::clean, GramsPerKwh{68.5}},
                  noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"decision","site":"A",)"
         R"("signal_time":"2026-01-11T12:05:00Z","from":"closed","to":"open","reason":"clean",)"
         R"("intensity_gco2_per_kwh":68.5})"},
        {to_event(PhaseChange{later, Phase::open, Phase::closing, Reason::no_signal}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"decision","site":"A",)"
         R"("signal_time":"2026-01-11T12:05:00Z","from":"open","to":"closing",)"
         R"("reason":"no-signal","intensity_gco2_per_kwh":null})"},
        {to_event(WindowChange{true, "w", later}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"window-open","site":"A","window":"w",)"
         R"("signal_time":"2026-01-11T12:05:00Z"})"},
        {to_event(JobChange{Type::submitted, "w", "7"}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"job-submitted","site":"A","window":"w",)"
         R"("job":"7"})"},
        {to_event(JobChange{Type::started, "w", "7", {}, {}, later}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"job-started","site":"A","window":"w",)"
         R"("job":"7","started":"2026-01-11T12:05:00Z"})"},
        {to_event(JobChange{Type::drained, "w", "7", "closed"}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"job-drained","site":"A","window":"w",)"
         R"("job":"7","why":"closed"})"},
        {to_event(JobChange{Type::failed, "w", "7", {}, "FAILED", later, 3, Millis{1500}}, noon,
                  "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"job-failed","site":"A","window":"w",)"
         R"("job":"7","state":"FAILED","ended":"2026-01-11T12:05:00Z","exit_code":3,)"
         R"("retry_after_s":1.5})"},
        {to_event(HoldChange{true, "cancel", "job 7", {}, later}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"hold","site":"A","cause":"cancel",)"
         R"("why":"job 7","signal_time":"2026-01-11T12:05:00Z"})"},
        {to_event(HoldChange{false, "person", "", 3, {}}, noon, "A"),
         R"({"time":"2026-01-11T12:00:00Z","type":"release","site":"A","cause":"person",)"
         R"("why":"","decision":3})"}};
    for (auto const& [event, line] : lines) EXPECT_EQ(line_of(event), line + "\n");
}

TEST(PollerEvents, AreReadBack)
{
    PhaseChange const opens{later, Phase::closed, Phase::open, Reason::clean, GramsPerKwh{5}};
    EXPECT_EQ(phase_change_in(to_event(opens, noon, "A")), opens);
    auto const closing = window_change_in(to_event(WindowChange{false, "w", later}, noon, "A"));
    ASSERT_TRUE(closing);
    EXPECT_FALSE(closing->opens);
    EXPECT_EQ(closing->window, "w");
    JobChange const failed{JobChange::Type::failed, "w", "7", {}, "FAILED", later, 3, Millis{1500}};
    auto const job = job_change_in(to_event(failed, noon, "A"));
    ASSERT_TRUE(job);
    EXPECT_EQ(job->type, failed.type);
    EXPECT_EQ(job->state, "FAILED");
    EXPECT_EQ(job->at, later);
    EXPECT_EQ(job->exit_code, 3);
    EXPECT_EQ(job->retry_after, Millis{1500});
    auto const hold =
        hold_change_in(to_event(HoldChange{true, "person", "why", 3, later}, noon, "A"));
    ASSERT_TRUE(hold);
    EXPECT_TRUE(hold->held);
    EXPECT_EQ(hold->cause, "person");
    EXPECT_EQ(hold->serial, 3);
    EXPECT_EQ(hold->signal_time, later);
    EXPECT_FALSE(job_change_in(to_event(WindowChange{}, noon, "A")));
    EXPECT_FALSE(phase_change_in(to_event(failed, noon, "A")));
    EXPECT_FALSE(phase_change_in(
        {noon, "decision", "A", {{"from", "open"}, {"to", "ajar"}, {"reason", "clean"}}}));
}

TEST(PollerEvents, ANumberIsReadWhereTextIsExpected)
{
    Event const event{noon, "job-started", "A", {{"job", 12}, {"started", 3}}};
    EXPECT_EQ(job_change_in(event)->job, "12");
    EXPECT_FALSE(job_change_in(event)->at);
    EXPECT_EQ(signal_time_of({noon, "decision", "A", {{"signal_time", to_unix_ms(later)}}}), later);
}

TEST(PollerEvents, TheHighestNumberCounts)
{
    std::vector<Event> events(3, Event{noon, "decision", "A", {}});
    EXPECT_EQ(highest_number(events), 0);
    set_number(events[0], 4);
    set_number(events[1], 9);
    EXPECT_EQ(highest_number(events), 9);
}

TEST(TrainerEvents, LinesAreStoredAsDocumented)
{
    std::string const head = R"({"time":"2026-01-11T12:00:00Z","type":")";
    EXPECT_EQ(line_of(to_event(StateChange{"exchange", "7"}, noon, "A")),
              head + "state\",\"site\":\"A\",\"state\":\"exchange\",\"job\":\"7\"}\n");
    EXPECT_EQ(line_of(to_event(TrainerStart{"7", 2, {{"version", "1"}}}, noon, "A")),
              head +
                  "trainer-start\",\"site\":\"A\",\"job\":\"7\",\"ranks\":2,"
                  "\"build\":{\"version\":\"1\"}}\n");
    EXPECT_EQ(line_of(to_event(StopRequested{"drain", ""}, noon, "A")),
              head + "stop-requested\",\"site\":\"A\",\"cause\":\"drain\"}\n");
    EXPECT_EQ(
        line_of(to_event(StopRequested{"permission", "closed"}, noon, "A")),
        head + "stop-requested\",\"site\":\"A\",\"cause\":\"permission\",\"why\":\"closed\"}\n");
    EXPECT_EQ(line_of(to_event(FirstStep{3, {{"process", 0.5}}}, noon, "A")),
              head + "first-step\",\"site\":\"A\",\"round\":3,\"start_s\":{\"process\":0.5}}\n");
    EXPECT_EQ(line_of(to_event(TrainerExit{ExitCode::io, "7", ""}, noon, "A")),
              head + "trainer-exit\",\"site\":\"A\",\"code\":74,\"job\":\"7\"}\n");
    EXPECT_EQ(
        line_of(to_event(TrainerExit{ExitCode::ok, "7", "drain"}, noon, "A")),
        head + "trainer-exit\",\"site\":\"A\",\"code\":0,\"job\":\"7\",\"cause\":\"drain\"}\n");
}

TEST(TrainerEvents, AreReadBack)
{
    auto const state = state_change_in(to_event(StateChange{"idle", "7"}, noon, "A"));
    ASSERT_TRUE(state);
    EXPECT_EQ(state->state, "idle");
    EXPECT_EQ(state->job, "7");
    auto const start = trainer_start_in(to_event(TrainerStart{"7", 2, {{"mpi", "x"}}}, noon, "A"));
    ASSERT_TRUE(start);
    EXPECT_EQ(start->ranks, 2);
    EXPECT_EQ(start->build, (json::Object{{"mpi", "x"}}));
    StopRequested const stop{"drain", ""};
    EXPECT_FALSE(state_change_in(to_event(stop, noon, "A")));
    EXPECT_TRUE(is_stop_request(to_event(stop, noon, "A")));
    auto const exit = trainer_exit_in(to_event(TrainerExit{ExitCode::io, "7", "drain"}, noon, "A"));
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->code, ExitCode::io);
    EXPECT_EQ(exit->job, "7");
    EXPECT_EQ(exit->cause, "drain");
}

TEST(EvaluationFile, IsStoredAsDocumentedAndReadBack)
{
    Evaluation const evaluation{{7}, {5}, {40}, Tokens{64}, 4.5, {}, 6.75, 1.5, "The end"};
    auto const text =
        R"({"commit":7,"round":5,"tokens":40,"trained_tokens":64,"held_out_loss_nats":4.5,)"
        R"("held_out_loss_se":null,"unigram_entropy_nats":6.75,"bits_per_byte":1.5,)"
        R"("sample":"The end"})";
    EXPECT_EQ(json::to_string(to_json(evaluation)), text);
    EXPECT_NE(std::string(text).find(evaluation_mark), std::string::npos);
    test::TemporaryFolder const folder;
    ASSERT_TRUE(write_file(folder / "evaluation.json", text));
    auto const read = read_evaluation(folder / "evaluation.json").value();
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(evaluation));
    EXPECT_FALSE(read_evaluation(folder / "none.json").value());
}

HeldOutLine evaluated_line()
{
    HeldOutLine line{noon, {7}, {5}, Tokens{64}, sha256("model"), sha256("manifest")};
    line.tokens = {40};
    line.loss = 4.5;
    line.unigram_entropy = 6.75;
    line.bits_per_byte = 1.5;
    line.duration = FractionalSeconds{2.5};
    return line;
}

TEST(HeldOutLines, AreStoredAsDocumentedAndReadBack)
{
    auto const line = evaluated_line();
    auto const head = R"({"time":"2026-01-11T12:00:00Z","commit":7,"round":5,)"
                      R"("trained_tokens":64,"model":")" +
                      sha256("model").hex() + R"(","data":")" + sha256("manifest").hex() +
                      R"(","duration_s":2.5,)";
    auto const text = json::to_string(to_json(line));
    EXPECT_EQ(text, head + R"("tokens":40,"held_out_loss_nats":4.5,"held_out_loss_se":null,)"
                           R"("unigram_entropy_nats":6.75,"bits_per_byte":1.5})");
    HeldOutLine deleted{noon, {7}, {5}, Tokens{64}, sha256("model"), sha256("manifest")};
    deleted.missing = model_deleted;
    deleted.duration = FractionalSeconds{2.5};
    EXPECT_EQ(json::to_string(to_json(deleted)), head + R"("missing":"deleted"})");
    auto const file =
        parse_held_out(text + "\n" + json::to_string(to_json(deleted)) + "\n{\"time\":\"2026\n");
    EXPECT_EQ(file.lines, (std::vector{line, deleted}));
    EXPECT_EQ(file.broken_lines.count, 1);
}

TEST(HeldOutLines, ALossThatIsNotFiniteIsNull)
{
    auto line = evaluated_line();
    line.loss = line.bits_per_byte = NAN;
    auto const file = parse_held_out(json::to_string(to_json(line)));
    ASSERT_EQ(file.lines.size(), 1U);
    EXPECT_TRUE(file.lines[0].is_evaluated());
    EXPECT_FALSE(file.lines[0].loss);
}

TEST(HeldOutLines, ALineWithoutAModelIsBroken)
{
    auto line = to_json(evaluated_line());
    for (auto const& [key, value] : {std::pair<char const*, json::Value>{"model", "0123"},
                                     {"commit", -1},
                                     {"time", 3},
                                     {"missing", "eaten"}}) {
        auto changed = line;
        changed.set(key, value);
        EXPECT_EQ(parse_held_out(json::to_string(changed)).broken_lines.count, 1) << key;
    }
}

class Metrics : public testing::Test {
  protected:
    test::TemporaryFolder folder_;
    std::filesystem::path const path_ = folder_ / "metrics.jsonl";
    StepMetrics const step_{noon, 3, 2, Tokens{64}, Tokens{128}, 4.5, 0.25, FractionalSeconds(1.5)};
};

TEST_F(Metrics, AStepIsStoredAsDocumentedAndReadBack)
{
    ASSERT_TRUE(append_metrics(path_, step_));
    EXPECT_EQ(read_file(path_).value(),
              R"({"time":"2026-01-11T12:00:00Z","step":3,"round":2,"tokens":64,)"
              R"("progress_tokens":128,"loss":4.5,"lr_scale":0.25,"step_s":1.5})"
              "\n");
    auto const file = parse_metrics(read_file(path_).value());
    EXPECT_EQ(file.broken_lines.count, 0);
    ASSERT_EQ(file.steps.size(), 1U);
    auto const& read = file.steps.front();
    EXPECT_EQ(read.time, noon);
    EXPECT_EQ(read.step, 3);
    EXPECT_EQ(read.round, 2);
    EXPECT_EQ(read.tokens, Tokens{64});
    EXPECT_EQ(read.progress, Tokens{128});
    EXPECT_EQ(read.loss, 4.5);
    EXPECT_EQ(read.lr_scale, 0.25);
    EXPECT_EQ(read.duration, FractionalSeconds(1.5));
}

TEST_F(Metrics, ALossThatIsNotFiniteIsNull)
{
    auto step = step_;
    step.loss = std::nullopt;
    ASSERT_TRUE(append_metrics(path_, step));
    EXPECT_THAT(read_file(path_).value(), testing::HasSubstr("\"loss\":null"));
    auto const file = parse_metrics(read_file(path_).value());
    ASSERT_EQ(file.steps.size(), 1U);
    EXPECT_FALSE(file.steps.front().loss);
}

TEST_F(Metrics, OnlyAStepOnAGpuHasItsMemory)
{
    auto step = step_;
    step.details.emplace().memory = Bytes{7};
    ASSERT_TRUE(append_metrics(path_, step));
    step.details->gpu_memory = Bytes{30'000'000'000};
    ASSERT_TRUE(append_metrics(path_, step));
    auto const text = read_file(path_).value();
    auto const second = text.find('\n') + 1;
    EXPECT_THAT(text.substr(0, second), testing::HasSubstr("\"memory_bytes\":7}"));
    EXPECT_THAT(text.substr(second), testing::HasSubstr("\"gpu_memory_bytes\":30000000000}"));
}

TEST_F(Metrics, NewShapesAreStoredOnlyIfThereAreAny)
{
    auto step = step_;
    for (int const new_shapes : {0, 2}) {
        step.details.emplace().new_shapes = new_shapes;
        ASSERT_TRUE(append_metrics(path_, step));
    }
    auto const text = read_file(path_).value();
    auto const lines = split(trim(text), '\n');
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_THAT(std::string(lines[0]), testing::Not(testing::HasSubstr("new_shapes")));
    EXPECT_THAT(std::string(lines[1]), testing::HasSubstr("\"new_shapes\":2"));
    EXPECT_EQ(parse_metrics(read_file(path_).value()).steps.size(), 2U);
}

TEST_F(Metrics, DamagedLinesAreCountedAndLeftOut)
{
    ASSERT_TRUE(append_metrics(path_, step_));
    auto const line = read_file(path_).value();
    auto const without = [&](std::string const& part) {
        auto text = line;
        return text.erase(text.find(part), part.size());
    };
    ASSERT_TRUE(write_file(path_, line + without("\"step\":3,") + without("\"loss\":4.5,") +
                                      without("\"time\":\"2026-01-11T12:00:00Z\",") +
                                      line.substr(0, 40)));
    auto const file = parse_metrics(read_file(path_).value());
    EXPECT_EQ(file.steps.size(), 1U);
    EXPECT_EQ(file.broken_lines.count, 4);
}

}  // namespace
}  // namespace curtail::runlog
