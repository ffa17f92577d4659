// SPDX-License-Identifier: Apache-2.0
#include "reference/history.hpp"

#include <algorithm>
#include <map>

#include "energy/grid.hpp"

namespace curtail::reference {
namespace {

using energy::Interval;

constexpr Millis longest_gap_in_training{60'000};

std::optional<std::size_t> client_index(std::string const& name)
{
    auto const& all = Logs::clients;
    auto const it = std::find(all.begin(), all.end(), name);
    if (it == all.end()) return std::nullopt;
    return static_cast<std::size_t>(it - all.begin());
}

std::vector<Time> times_of(std::vector<LoggedStep> const& steps)
{
    std::vector<Time> times;
    times.reserve(steps.size());
    for (auto const& s : steps) times.push_back(s.time);
    return times;
}

tl::unexpected<Error> broken(Logs const& logs, LoggedEvent const& event, std::string why)
{
    return fail(
        ExitCode::data,
        "events.csv: " + event.type + " at " + std::to_string(logs.seconds(event.time)) + " s",
        std::move(why));
}

/// Windows without their steps.
Result<std::vector<Window>> read_windows(Logs const& logs)
{
    std::map<std::size_t, Window> open;
    std::vector<Window> done;
    for (auto const& event : logs.events) {
        auto const client = client_index(event.client);
        if (!client) continue;
        if (event.type == "PROVISION_DECISION") {
            if (open.count(*client))
                return broken(logs, event, "the client's last window has not ended");
            open[*client] = {*client, event.time, event.time, {}, {}, {}, event.time, {}, {}};
            continue;
        }
        auto const found = open.find(*client);
        if (found == open.end()) return broken(logs, event, "the client has no window");
        auto& window = found->second;
        if (event.type == "PROVISION_COMPLETE") window.ready = event.time;
        else if (event.type == "CLIENT_CONNECTED") window.connected = event.time;
        else if (event.type == "DEPROVISION_MARKED" && !window.drain)
            window.turned_dirty.push_back(event.time);
        else if (event.type == "DEPROVISION_STARTED") window.drain = event.time;
        else if (event.type == "DEPROVISION") {
            window.released = event.time;
            done.push_back(window);
            open.erase(found);
        }
    }
    for (auto& [client, window] : open) {
        window.released = logs.events.back().time;
        done.push_back(window);
    }
    std::sort(done.begin(), done.end(),
              [](auto const& a, auto const& b) { return a.decision < b.decision; });
    return done;
}

/// Rounds that ended, without their parts.
Result<std::vector<Round>> read_rounds(Logs const& logs)
{
    std::map<std::int64_t, Time> starts;
    std::vector<Round> rounds;
    for (auto const& event : logs.events) {
        if (!event.round) continue;
        if (event.type == "ROUND_START") starts[*event.round] = event.time;
        if (event.type == "ROUND_END") {
            if (!starts.count(*event.round))
                return broken(logs, event, "the round has not started");
            Round round;
            round.number = *event.round;
            round.start = starts[*event.round];
            round.end = event.time;
            rounds.push_back(round);
        }
        if (event.type == "AGGREGATION") {
            if (rounds.empty() || rounds.back().number != *event.round)
                return broken(logs, event, "the round has not ended");
            rounds.back().merged = event.time;
        }
    }
    return rounds;
}

void add_parts(Round& round, Logs const& logs, History const& history)
{
    std::vector<LoggedStep> rows;
    for (std::size_t c = 0; c < logs.steps.size(); ++c) {
        RoundPart part{c, 0, {}, {}, {}};
        for (auto const& s : logs.steps[c]) {
            if (s.time < round.start || s.time > round.end) continue;
            if (part.steps++ == 0) part.first_step = s.time;
            part.last_step = s.time;
            rows.push_back(s);
        }
        if (part.steps == 0) continue;
        for (auto const& segment : history.training[c]) {
            auto const overlap =
                std::min(segment.to, round.end) - std::max(segment.from, round.start);
            if (overlap > Millis{0}) part.training += overlap;
        }
        round.parts.push_back(part);
    }
    if (rows.empty()) return;
    std::stable_sort(rows.begin(), rows.end(),
                     [](auto const& a, auto const& b) { return a.step < b.step; });
    round.steps = rows.back().step - rows.front().step + 1;
    round.last_step = rows.back().step;
    auto const tail = std::min<std::size_t>(rows.size(), 100);
    for (std::size_t i = rows.size() - tail; i < rows.size(); ++i)
        round.loss += rows[i].loss / static_cast<double>(tail);
    // client_2's log is thinned: its steps are those of the round that no other client logged.
    std::int64_t others = 0;
    for (auto const& part : round.parts)
        if (part.client != 2) others += part.steps;
    for (auto& part : round.parts)
        if (part.client == 2) part.steps = round.steps - others;
}

}  // namespace

Result<History> history_of(Logs const& logs)
{
    History history;
    history.end = logs.events.back().time;
    auto windows = read_windows(logs);
    if (!windows) return tl::unexpected(windows.error());
    history.windows = std::move(*windows);
    for (std::size_t c = 0; c < logs.steps.size(); ++c)
        history.training[c] = energy::segments(times_of(logs.steps[c]), longest_gap_in_training);
    for (auto& window : history.windows) {
        history.provisioned[window.client].push_back({window.ready, window.released});
        bool trained = false;
        for (auto const& segment : history.training[window.client]) {
            if (segment.from < window.ready || segment.from > window.released) continue;
            if (!trained) window.first_step = segment.from;
            window.last_step = segment.to;
            trained = true;
        }
        if (!trained)
            return fail(
                ExitCode::data, "events.csv",
                std::string("a window of ") + Logs::clients[window.client] + " holds no step");
    }
    auto rounds = read_rounds(logs);
    if (!rounds) return tl::unexpected(rounds.error());
    for (auto& round : *rounds) add_parts(round, logs, history);
    history.rounds = std::move(*rounds);
    return history;
}

}  // namespace curtail::reference
