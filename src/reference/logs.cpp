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

Result<LoggedStep> read_step(CsvTable const& table, std::size_t row, Time zero)
{
    std::array<double, 4> values{};
    for (std::size_t column = 0; column < values.size(); ++column) {
        auto const value = table.number(row, column);
        if (!value) return tl::unexpected(value.error());
        values[column] = *value;
    }
    return LoggedStep{after(zero, values[0]), static_cast<std::int64_t>(values[1]), values[2],
                      values[3]};
}

Result<LoggedEvent> read_event(CsvTable const& table, std::size_t row, Time zero)
{
    auto const& fields = table.rows[row];
    auto const elapsed = table.number(row, 1);
    if (!elapsed) return tl::unexpected(elapsed.error());
    LoggedEvent event{after(zero, *elapsed), fields[0], fields[2], {}, fields[4], fields[5]};
    if (fields[3].empty()) return event;
    auto const round = table.number(row, 3);
    if (!round) return tl::unexpected(round.error());
    event.round = static_cast<std::int64_t>(*round);
    return event;
}

// Reads all rows of a file with `read_row`. Their times must not fall, and there must be one.
template <class Row>
Result<std::vector<Row>> read_rows(std::filesystem::path const& file, char const* header, Time zero,
                                   Result<Row> (*read_row)(CsvTable const&, std::size_t, Time))
{
    auto const table = read_csv(file, header);
    if (!table) return tl::unexpected(table.error());
    std::vector<Row> rows;
    for (std::size_t i = 0; i < table->rows.size(); ++i) {
        auto row = read_row(*table, i, zero);
        if (!row) return tl::unexpected(row.error());
        if (!rows.empty() && row->time < rows.back().time)
            return fail(ExitCode::data, table->place(i),
                        "the time is before that of the row above");
        rows.push_back(std::move(*row));
    }
    if (rows.empty()) return fail(ExitCode::data, "cannot use " + file.string(), "it has no rows");
    return rows;
}

constexpr char const* step_header = "time,step,loss,perplexity";
constexpr char const* event_header = "wall_time,elapsed_s,event_type,round,client,details";

// The first sample of the trace, which must hold all regions of the reference.
Result<Time> first_sample(Logs const& logs)
{
    Time first;
    for (char const* region : Logs::regions) {
        auto const* found = logs.find({region});
        if (found == nullptr || found->points.empty())
            return fail(ExitCode::data, "cannot use the trace",
                        std::string("it has no samples of region ") + region,
                        "pass the reference's trace, signals/mci_2026-01-11.csv");
        first = found->points.front().time;
    }
    return first;
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
    auto const zero = first_sample(logs);
    if (!zero) return tl::unexpected(zero.error());
    logs.zero = *zero;
    std::vector<std::pair<std::string, std::vector<LoggedStep>*>> const step_files{
        {"client_0.csv", &logs.steps[0]},
        {"client_1.csv", &logs.steps[1]},
        {"client_2.csv", &logs.steps[2]},
        {"baseline_1_client.csv", &logs.one_site},
        {"baseline_2_clients.csv", &logs.two_sites}};
    for (auto const& [name, target] : step_files) {
        auto steps = read_rows(folder / name, step_header, logs.zero, read_step);
        if (!steps) return tl::unexpected(steps.error());
        *target = std::move(*steps);
    }
    auto events = read_rows(folder / "events.csv", event_header, logs.zero, read_event);
    if (!events) return tl::unexpected(events.error());
    logs.events = std::move(*events);
    return logs;
}

}  // namespace curtail::reference
