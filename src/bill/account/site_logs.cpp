// SPDX-License-Identifier: Apache-2.0
#include "bill/account/site_logs.hpp"

#include <algorithm>
#include <thread>

#include "base/core/clock_file.hpp"
#include "base/core/files.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::account {
namespace {

using journal::SiteLog;
using journal::Stream;

// The times that the lines of a log may have. A line of a published log was written before its
// piece was stored. A wrong clock must not stretch the account of the run over centuries.
struct PossibleTimes {
    Time from{from_unix_ms(946'684'800'000)};  // the year 2000
    Time to{Time::max()};

    explicit PossibleTimes(SiteLog const& log)
    {
        constexpr Millis tolerance = std::chrono::hours{24};
        if (log.pieces > 0 && !log.reaches_local && log.stored) to = *log.stored + tolerance;
        if (log.pieces == 0) from = Time::min();
    }
    [[nodiscard]] bool has(Time time) const { return time >= from && time <= to; }
};

// Returns whether a trainer logged no exit before the site's next one started.
bool has_killed_trainer(std::string_view text)
{
    bool is_running = false;
    for (auto const& event : runlog::parse_events(text).events) {
        if (runlog::trainer_exit_in(event)) is_running = false;
        if (!runlog::trainer_start_in(event)) continue;
        if (is_running) return true;
        is_running = true;
    }
    return false;
}

Result<SiteLog> read_newest_steps(journal::LogReader const& reader, SiteId const& site,
                                  FractionalSeconds least)
{
    return reader.read_newest(site, Stream::metrics, [&](std::string_view text) {
        FractionalSeconds time{0};
        for (auto const& step : runlog::parse_metrics(text).steps) time += step.duration;
        return time >= least;
    });
}

// Leaves out the lines with an impossible time, and counts them as broken.
template <class File, class Line>
File possible(File file, std::vector<Line> File::*lines, SiteLog const& log)
{
    PossibleTimes const times(log);
    file.broken_lines += static_cast<int>(
        std::erase_if(file.*lines, [&](Line const& line) { return !times.has(line.time); }));
    return file;
}

// Also leaves out the lines of other sites.
runlog::EventFile events_in(SiteLog const& log, SiteId const& site)
{
    auto file = possible(runlog::parse_events(log.text), &runlog::EventFile::events, log);
    if (log.pieces > 0)
        file.broken_lines += static_cast<int>(std::erase_if(
            file.events, [&](auto const& event) { return event.site != site.value; }));
    return file;
}

}  // namespace

Result<SiteLogs> read_site_logs(journal::LogReader const& reader, SiteId const& site,
                                std::optional<FractionalSeconds> newest_steps)
{
    SiteLogs logs;
    for (auto const stream : journal::all_streams) {
        bool const reads_end = stream == Stream::metrics && newest_steps &&
                               !has_killed_trainer(logs.text(Stream::trainer).text);
        auto text =
            reads_end ? read_newest_steps(reader, site, *newest_steps) : reader.read(site, stream);
        if (!text) return tl::unexpected(text.error());
        logs.texts.at(static_cast<std::size_t>(stream)) = std::move(*text);
    }
    auto poller = events_in(logs.text(Stream::poller), site);
    auto trainer = events_in(logs.text(Stream::trainer), site);
    auto const& steps = logs.text(Stream::metrics);
    auto metrics = possible(runlog::parse_metrics(steps.text), &runlog::MetricsFile::steps, steps);
    auto const& losses = logs.text(Stream::evaluation);
    auto evaluations =
        possible(runlog::parse_held_out(losses.text), &runlog::HeldOutFile::lines, losses);
    logs.broken_lines = poller.broken_lines + trainer.broken_lines + metrics.broken_lines +
                        evaluations.broken_lines;
    logs.poller_events = std::move(poller.events);
    logs.events = std::move(trainer.events);
    logs.metrics = std::move(metrics.steps);
    logs.evaluations = std::move(evaluations.lines);
    return logs;
}

std::vector<Result<SiteLogs>> read_all_site_logs(config::Run const& run,
                                                 journal::LogReader const& reader,
                                                 std::optional<FractionalSeconds> newest_steps)
{
    std::vector<Result<SiteLogs>> all(run.sites.size());
    std::vector<std::jthread> threads;
    for (std::size_t s = 0; s < all.size(); ++s)
        threads.emplace_back(
            [&, s] { all[s] = read_site_logs(reader, run.sites[s].site, newest_steps); });
    threads.clear();
    return all;
}

Result<runlog::EventFile> read_common_events(config::Run const& run)
{
    return runlog::read_events(run.poller_folder() / "events.jsonl");
}

Result<samples::SampleFile> read_samples(config::Run const& run, std::vector<SiteLogs> const& sites)
{
    auto const common = read_file_if_exists(run.poller_folder() / "signals.jsonl");
    if (!common) return tl::unexpected(common.error());
    std::vector<samples::SampleText> texts;
    if (*common) texts.push_back({**common, {}});
    for (std::size_t s = 0; s < sites.size(); ++s) {
        auto const& log = sites[s].text(Stream::signals);
        bool const is_published = log.pieces > 0;
        texts.push_back(
            {log.text, is_published ? std::optional(run.sites.at(s).region) : std::nullopt});
    }
    return samples::parse_samples(texts);
}

Result<std::optional<TimeScale>> read_run_clock(config::Run const& run,
                                                std::vector<SiteLogs> const& sites)
{
    auto local = read_clock(run.folder);
    if (!local || *local) return local;
    for (auto const& site : sites)
        for (auto const stream : {Stream::poller, Stream::signals})
            if (auto const& clock = site.text(stream).clock) return clock;
    return local;
}

Publication publication_of(SiteLogs const& logs)
{
    Publication publication;
    std::optional<Time> until;
    bool is_published = false;
    bool reaches_local = false;
    for (auto const stream : journal::all_streams) {
        auto const& log = logs.text(stream);
        publication.problems.insert(publication.problems.end(), log.problems.begin(),
                                    log.problems.end());
        // It says nothing about the site's jobs, and may be written on another machine.
        if (stream == Stream::evaluation) continue;
        is_published = is_published || log.pieces > 0 || !log.problems.empty();
        reaches_local = reaches_local || log.reaches_local;
        if (log.until) until = std::max(until.value_or(*log.until), *log.until);
    }
    publication.is_remote = is_published && !reaches_local;
    publication.is_missing = !is_published && !reaches_local;
    if (!publication.is_remote) return publication;
    auto const extend = [&](auto const& lines) {
        for (auto const& line : lines) until = std::max(until.value_or(line.time), line.time);
    };
    extend(logs.poller_events);
    extend(logs.events);
    extend(logs.metrics);
    publication.until = until;
    return publication;
}

}  // namespace curtail::account
