// SPDX-License-Identifier: Apache-2.0
#include "reference/logs.hpp"

#include <algorithm>

#include "reference/csv.hpp"

namespace curtail::reference {
namespace {

Time after(Time zero, double seconds)
{
    return zero + std::chrono::round<Millis>(FractionalSeconds(seconds));
}

Result<std::vector<LoggedStep>> read_steps(std::filesystem::path const& file, Time zero)
{
    auto const table = read_csv(file, "time,step,loss,perplexity");
    if (!table) return tl::unexpected(table.error());
    std::vector<LoggedStep> steps;
    for (std::size_t i = 0; i < table->rows.size(); ++i) {
        std::array<double, 4> values{};
        for (std::size_t column = 0; column < values.size(); ++column) {
            auto const value = table->number(i, column);
            if (!value) return tl::unexpected(value.error());
            values[column] = *value;
        }
        LoggedStep const step{after(zero, values[0]), static_cast<std::int64_t>(values[1]),
                              values[2], values[3]};
        if (!steps.empty() && step.time < steps.back().time)
            return fail(ExitCode::data, table->place(i), "its time is before the last row's");
        steps.push_back(step);
    }
    if (steps.empty()) return fail(ExitCode::data, file.string(), "it holds no step");
    return steps;
}

Result<std::vector<LoggedEvent>> read_log_events(std::filesystem::path const& file, Time zero)
{
    auto const table = read_csv(file, "wall_time,elapsed_s,event_type,round,client,details");
    if (!table) return tl::unexpected(table.error());
    std::vector<LoggedEvent> events;
    for (std::size_t i = 0; i < table->rows.size(); ++i) {
        auto const& row = table->rows[i];
        auto const elapsed = table->number(i, 1);
        if (!elapsed) return tl::unexpected(elapsed.error());
        LoggedEvent event{after(zero, *elapsed), row[0], row[2], {}, row[4], row[5]};
        if (!row[3].empty()) {
            auto const round = table->number(i, 3);
            if (!round) return tl::unexpected(round.error());
            event.round = static_cast<std::int64_t>(*round);
        }
        if (!events.empty() && event.time < events.back().time)
            return fail(ExitCode::data, table->place(i), "its time is before the last row's");
        events.push_back(std::move(event));
    }
    if (events.empty()) return fail(ExitCode::data, file.string(), "it holds no event");
    return events;
}

}  // namespace

RegionSeries const* Logs::find(RegionId const& region) const
{
    auto const it = std::find_if(trace.begin(), trace.end(),
                                 [&](RegionSeries const& t) { return t.region == region; });
    return it == trace.end() ? nullptr : &*it;
}

Result<Logs> read_logs(std::filesystem::path const& folder, std::vector<RegionSeries> trace)
{
    Logs logs;
    logs.trace = std::move(trace);
    for (char const* region : Logs::regions) {
        auto const* found = logs.find({region});
        if (found == nullptr || found->readings.empty())
            return fail(ExitCode::data, "the trace",
                        std::string("it has no samples of region ") + region,
                        "give the trace of the reference, signals/mci_2026-01-11.csv");
        logs.zero = found->readings.front().time;
    }
    std::vector<std::pair<std::string, std::vector<LoggedStep>*>> const step_files{
        {"client_0.csv", &logs.steps[0]},
        {"client_1.csv", &logs.steps[1]},
        {"client_2.csv", &logs.steps[2]},
        {"baseline_1_client.csv", &logs.one_site},
        {"baseline_2_clients.csv", &logs.two_sites}};
    for (auto const& [name, target] : step_files) {
        auto steps = read_steps(folder / name, logs.zero);
        if (!steps) return tl::unexpected(steps.error());
        *target = std::move(*steps);
    }
    auto events = read_log_events(folder / "events.csv", logs.zero);
    if (!events) return tl::unexpected(events.error());
    logs.events = std::move(*events);
    return logs;
}

}  // namespace curtail::reference
