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

// Collects windows, without their steps, from the events.
class WindowReader {
  public:
    explicit WindowReader(Logs const& logs) : logs_(logs) {}

    Result<void> add(LoggedEvent const& event, std::size_t client)
    {
        auto const found = open_.find(client);
        if (event.type == "PROVISION_DECISION") {
            if (found != open_.end())
                return broken(logs_, event, "the client's last window has not ended");
            open_[client] = {client, event.time, event.time, {}, {}, {}, event.time, {}, {}};
            return {};
        }
        if (found == open_.end()) return broken(logs_, event, "the client has no window");
        apply(event, found->second);
        if (event.type == "DEPROVISION") {
            done_.push_back(found->second);
            open_.erase(found);
        }
        return {};
    }

    // Windows that are still open are released with the last event.
    [[nodiscard]] std::vector<Window> take()
    {
        for (auto& [client, window] : open_) {
            window.released = logs_.events.back().time;
            done_.push_back(window);
        }
        std::sort(done_.begin(), done_.end(),
                  [](auto const& a, auto const& b) { return a.decision < b.decision; });
        return std::move(done_);
    }

  private:
    static void apply(LoggedEvent const& event, Window& window)
    {
        if (event.type == "PROVISION_COMPLETE") window.ready = event.time;
        if (event.type == "CLIENT_CONNECTED") window.connected = event.time;
        if (event.type == "DEPROVISION_MARKED" && !window.drain)
            window.turned_dirty.push_back(event.time);
        if (event.type == "DEPROVISION_STARTED") window.drain = event.time;
        if (event.type == "DEPROVISION") window.released = event.time;
    }

    Logs const& logs_;
    std::map<std::size_t, Window> open_;
    std::vector<Window> done_;
};

Result<std::vector<Window>> read_windows(Logs const& logs)
{
    WindowReader reader(logs);
    for (auto const& event : logs.events)
        if (auto const client = client_index(event.client))
            if (auto added = reader.add(event, *client); !added)
                return tl::unexpected(added.error());
    return reader.take();
}

// Collects the rounds that ended, without their parts, from the events.
class RoundReader {
  public:
    explicit RoundReader(Logs const& logs) : logs_(logs) {}

    Result<void> add(LoggedEvent const& event, std::int64_t number)
    {
        if (event.type == "ROUND_START") starts_[number] = event.time;
        if (event.type == "ROUND_END") return end(event, number);
        if (event.type == "AGGREGATION") {
            if (rounds_.empty() || rounds_.back().number != number)
                return broken(logs_, event, "the round has not ended");
            rounds_.back().merged = event.time;
        }
        return {};
    }
    [[nodiscard]] std::vector<Round> take() { return std::move(rounds_); }

  private:
    Result<void> end(LoggedEvent const& event, std::int64_t number)
    {
        if (!starts_.count(number)) return broken(logs_, event, "the round has not started");
        Round round;
        round.number = number;
        round.start = starts_[number];
        round.end = event.time;
        rounds_.push_back(round);
        return {};
    }

    Logs const& logs_;
    std::map<std::int64_t, Time> starts_;
    std::vector<Round> rounds_;
};

Result<std::vector<Round>> read_rounds(Logs const& logs)
{
    RoundReader reader(logs);
    for (auto const& event : logs.events)
        if (event.round)
            if (auto added = reader.add(event, *event.round); !added)
                return tl::unexpected(added.error());
    return reader.take();
}

// The logged steps of a client in a round.
std::vector<LoggedStep> steps_in(std::vector<LoggedStep> const& steps, Round const& round)
{
    std::vector<LoggedStep> out;
    for (auto const& s : steps)
        if (s.time >= round.start && s.time <= round.end) out.push_back(s);
    return out;
}

// A client's part in a round; `steps` is not empty.
RoundPart part_of(std::size_t client, std::vector<LoggedStep> const& steps, Round const& round,
                  History const& history)
{
    RoundPart part{
        client, static_cast<std::int64_t>(steps.size()), steps.front().time, steps.back().time, {}};
    for (auto const& segment : history.training[client]) {
        auto const overlap = std::min(segment.to, round.end) - std::max(segment.from, round.start);
        if (overlap > Millis{0}) part.training += overlap;
    }
    return part;
}

// client_2's log is thinned: its steps are those of the round that no other client logged.
void correct_thinned(Round& round)
{
    std::int64_t others = 0;
    for (auto const& part : round.parts)
        if (part.client != 2) others += part.steps;
    for (auto& part : round.parts)
        if (part.client == 2) part.steps = round.steps - others;
}

void add_parts(Round& round, Logs const& logs, History const& history)
{
    std::vector<LoggedStep> all;
    for (std::size_t c = 0; c < logs.steps.size(); ++c) {
        auto const mine = steps_in(logs.steps[c], round);
        if (mine.empty()) continue;
        round.parts.push_back(part_of(c, mine, round, history));
        all.insert(all.end(), mine.begin(), mine.end());
    }
    if (all.empty()) return;
    std::stable_sort(all.begin(), all.end(),
                     [](auto const& a, auto const& b) { return a.step < b.step; });
    round.steps = all.back().step - all.front().step + 1;
    round.last_step = all.back().step;
    auto const tail = std::min<std::size_t>(all.size(), 100);
    for (std::size_t i = all.size() - tail; i < all.size(); ++i)
        round.loss += all[i].loss / static_cast<double>(tail);
    correct_thinned(round);
}

// Sets the window's first and last step from its client's training segments. False if there is
// none.
bool set_steps(Window& window, std::vector<Interval> const& training)
{
    bool trained = false;
    for (auto const& segment : training) {
        if (segment.from < window.ready || segment.from > window.released) continue;
        if (!trained) window.first_step = segment.from;
        window.last_step = segment.to;
        trained = true;
    }
    return trained;
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
        if (!set_steps(window, history.training[window.client]))
            return fail(
                ExitCode::data, "events.csv",
                std::string("a window of ") + Logs::clients[window.client] + " has no step");
    }
    auto rounds = read_rounds(logs);
    if (!rounds) return tl::unexpected(rounds.error());
    for (auto& round : *rounds) add_parts(round, logs, history);
    history.rounds = std::move(*rounds);
    return history;
}

}  // namespace curtail::reference
