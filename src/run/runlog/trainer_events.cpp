// SPDX-License-Identifier: Apache-2.0
#include "run/runlog/trainer_events.hpp"

namespace curtail::runlog {

Event to_event(StateChange const& change, Time now, std::string site)
{
    return {now, "state", std::move(site), {{"state", change.state}, {"job", change.job}}};
}

std::optional<StateChange> state_change_in(Event const& event)
{
    if (event.type != "state") return std::nullopt;
    return StateChange{event.text("state"), event.text("job")};
}

Event to_event(TrainerStart const& start, Time now, std::string site)
{
    json::Object details{{"job", start.job}, {"ranks", start.ranks}, {"build", start.build}};
    if (!start.gpu.empty()) details.set("gpu", start.gpu);
    return {now, "trainer-start", std::move(site), std::move(details)};
}

std::optional<TrainerStart> trainer_start_in(Event const& event)
{
    if (event.type != "trainer-start") return std::nullopt;
    TrainerStart start{.job = event.text("job"),
                       .ranks = static_cast<int>(event.integer("ranks").value_or(0))};
    for (auto const& [key, object] : {std::pair("build", &start.build), {"gpu", &start.gpu}})
        if (auto const* found = event.details.find(key); found != nullptr && found->as_object())
            *object = *found->as_object();
    return start;
}

Event to_event(TrainerExit const& exit, Time now, std::string site)
{
    json::Object details{{"code", static_cast<int>(exit.code)}, {"job", exit.job}};
    if (!exit.cause.empty()) details.set("cause", exit.cause);
    return {now, "trainer-exit", std::move(site), std::move(details)};
}

std::optional<TrainerExit> trainer_exit_in(Event const& event)
{
    if (event.type != "trainer-exit") return std::nullopt;
    return TrainerExit{static_cast<ExitCode>(event.integer("code").value_or(0)), event.text("job"),
                       event.text("cause")};
}

Event to_event(StopRequested const& request, Time now, std::string site)
{
    json::Object details{{"cause", request.cause}};
    if (!request.why.empty()) details.set("why", request.why);
    return {now, "stop-requested", std::move(site), std::move(details)};
}

bool is_stop_request(Event const& event) { return event.type == "stop-requested"; }

Event to_event(Frozen const& frozen, Time now, std::string site)
{
    return {now,
            "frozen",
            std::move(site),
            {{"from", format_time(frozen.from)}, {"to", format_time(frozen.to)}}};
}

std::optional<Frozen> frozen_in(Event const& event)
{
    auto const from = event.time_of("from");
    auto const to = event.time_of("to");
    if (event.type != "frozen" || !from || !to) return std::nullopt;
    return Frozen{*from, *to};
}

Event to_event(FirstStep const& step, Time now, std::string site)
{
    return {now, "first-step", std::move(site), {{"round", step.round}, {"start_s", step.start_s}}};
}

bool is_first_step(Event const& event) { return event.type == "first-step"; }

Event to_event(HighLoss const& high, Time now, std::string site)
{
    return {now,
            "high-loss",
            std::move(site),
            {{"loss", high.loss}, {"uniform_loss", high.uniform_loss}, {"steps", high.steps}}};
}

Event to_event(ZeroRate const& zero, Time now, std::string site)
{
    return {now,
            "zero-rate",
            std::move(site),
            {{"step", zero.step},
             {"progress_tokens", zero.progress.value},
             {"end_tokens", zero.end.value}}};
}

Event to_event(StepSkipped const& skipped, Time now, std::string site)
{
    return {
        now, "step-skipped", std::move(site), {{"step", skipped.step}, {"blocks", skipped.blocks}}};
}

Event to_event(SweepReport const& swept, Time now, std::string site)
{
    return {now,
            "swept",
            std::move(site),
            {{"deleted", swept.deleted}, {"freed_bytes", swept.freed.value}}};
}

Event to_event(PayloadsRead const& read, Time now, std::string site)
{
    return {now,
            "payloads-read",
            std::move(site),
            {{"round", read.round},
             {"mpi_bytes", read.by_mpi.value},
             {"store_bytes", read.from_store.value},
             {"why_store", read.why_store}}};
}

std::optional<PayloadsRead> payloads_read_in(Event const& event)
{
    if (event.type != "payloads-read") return std::nullopt;
    auto const bytes = [&](char const* key) {
        return Bytes{std::max<std::int64_t>(0, event.details.integer_at(key).value_or(0))};
    };
    return PayloadsRead{event.details.integer_at("round").value_or(0), bytes("mpi_bytes"),
                        bytes("store_bytes"), event.details.text_at("why_store")};
}

Event to_event(SnapshotFailed const& failed, Time now, std::string site)
{
    return {now, "snapshot-failed", std::move(site), {{"why", failed.why}}};
}

}  // namespace curtail::runlog
