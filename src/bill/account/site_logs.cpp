// SPDX-License-Identifier: Apache-2.0
#include "bill/account/site_logs.hpp"

#include <algorithm>

#include "base/core/clock_file.hpp"
#include "base/core/exceptions.hpp"
#include "base/core/files.hpp"
#include "bill/account/in_force.hpp"
#include "run/journal/local_file.hpp"
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

// Moves the lines for which `counts` is true to `to`. Returns the others as broken lines.
template <class Line, class Counts>
BrokenLines take_lines(std::vector<Line>& to, std::vector<Line> from, Counts const& counts)
{
    BrokenLineFinder finder;
    for (auto& line : from) {
        if (counts(line)) {
            finder.good(line.time);
            to.push_back(std::move(line));
        } else {
            finder.broken();
        }
    }
    return finder.found();
}

// The bytes of the complete lines that the chain of commits fixes.
std::size_t fixed_bytes(SiteLog const& log)
{
    auto const end = std::string_view(log.text).substr(0, log.fixed).rfind('\n');
    return end == std::string_view::npos ? 0 : end + 1;
}

// The lines of a log, without those for which `counts` is false.
template <class Line>
struct Lines {
    std::vector<Line> all;
    std::size_t fixed{};
    BrokenLines broken;
};

template <class File, class Line, class Counts>
Lines<Line> lines_of(SiteLog const& log, File (*parse)(std::string_view),
                     std::vector<Line> File::*member, Counts const& counts)
{
    auto const fixed = fixed_bytes(log);
    Lines<Line> lines;
    auto const add = [&](std::string_view part) {
        auto file = parse(part);
        lines.broken += file.broken_lines;
        lines.broken += take_lines(lines.all, std::move(file.*member), counts);
    };
    add(std::string_view(log.text).substr(0, fixed));
    lines.fixed = lines.all.size();
    add(std::string_view(log.text).substr(fixed));
    return lines;
}

// Leaves out the lines with an impossible time.
template <class File, class Line>
Lines<Line> possible_lines(SiteLog const& log, File (*parse)(std::string_view),
                           std::vector<Line> File::*member)
{
    PossibleTimes const times(log);
    return lines_of(log, parse, member, [&](Line const& line) { return times.has(line.time); });
}

// Also leaves out the lines of other sites.
Lines<runlog::Event> events_in(SiteLog const& log, SiteId const& site)
{
    PossibleTimes const times(log);
    bool const is_published = log.pieces > 0;
    return lines_of(log, runlog::parse_events, &runlog::EventFile::events, [&](auto const& event) {
        return times.has(event.time) && (!is_published || event.site == site.value);
    });
}

template <class Line>
std::vector<Line> first_of(std::vector<Line> const& lines, std::size_t count)
{
    return {lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::string log_name(SiteId const& site, Stream stream)
{
    bool const is_poller = stream == Stream::poller || stream == Stream::signals;
    auto const file = journal::local_file({}, site, stream).filename().string();
    return site.value + (is_poller ? " poller " : " ") + file;
}

SiteLogs fixed_part(SiteLogs const& logs)
{
    SiteLogs part;
    for (auto const stream : journal::all_streams) {
        auto const& from = logs.text(stream);
        auto& log = part.texts.at(static_cast<std::size_t>(stream));
        log.text = from.text.substr(0, fixed_bytes(from));
        log.fixed = log.text.size();
        log.pieces = log.text.empty() ? 0 : from.pieces;
        log.stored = from.stored;
        if (log.pieces > 0) log.clock = from.clock;
    }
    part.poller_events = first_of(logs.poller_events, logs.fixed.poller_events);
    part.events = first_of(logs.events, logs.fixed.events);
    part.metrics = first_of(logs.metrics, logs.fixed.metrics);
    part.evaluations = first_of(logs.evaluations, logs.fixed.evaluations);
    part.fixed = logs.fixed;
    return part;
}

Result<SiteLogs> read_site_logs(journal::LogReader const& reader, SiteId const& site)
{
    SiteLogs logs;
    for (auto const stream : journal::all_streams) {
        auto text = reader.read(site, stream);
        if (!text) return tl::unexpected(text.error());
        logs.texts.at(static_cast<std::size_t>(stream)) = std::move(*text);
    }
    auto poller = events_in(logs.text(Stream::poller), site);
    auto trainer = events_in(logs.text(Stream::trainer), site);
    auto metrics = possible_lines(logs.text(Stream::metrics), runlog::parse_metrics,
                                  &runlog::MetricsFile::steps);
    auto evaluations = possible_lines(logs.text(Stream::evaluation), runlog::parse_held_out,
                                      &runlog::HeldOutFile::lines);
    logs.fixed = {poller.fixed, trainer.fixed, metrics.fixed, evaluations.fixed};
    auto const set_broken = [&](Stream stream, BrokenLines const& lines) {
        logs.broken_lines.at(static_cast<std::size_t>(stream)) = lines;
    };
    set_broken(Stream::poller, poller.broken);
    set_broken(Stream::trainer, trainer.broken);
    set_broken(Stream::metrics, metrics.broken);
    set_broken(Stream::evaluation, evaluations.broken);
    logs.poller_events = std::move(poller.all);
    logs.events = std::move(trainer.all);
    logs.metrics = std::move(metrics.all);
    logs.evaluations = std::move(evaluations.all);
    return logs;
}

std::vector<Result<SiteLogs>> read_all_site_logs(config::Run const& run,
                                                 journal::LogReader const& reader)
{
    std::vector<Result<SiteLogs>> all(run.sites.size());
    run_in_threads(all.size(),
                   [&](std::size_t s) { all[s] = read_site_logs(reader, run.sites[s].site); });
    return all;
}

namespace {

// When a poller can have received samples. It logs its settings in its first poll.
samples::TimeRange receipt_times(SiteLogs const& logs)
{
    constexpr Millis longest_poll = std::chrono::minutes{10};
    samples::TimeRange range{Time::min(), PossibleTimes(logs.text(Stream::signals)).to};
    if (logs.poller_events.empty()) return range;
    auto const first = std::ranges::min_element(logs.poller_events, {}, &runlog::Event::time);
    range.from = first->time - longest_poll;
    return range;
}

}  // namespace

samples::SampleFile samples_of(config::Run const& run, std::vector<SiteLogs> const& sites)
{
    std::vector<samples::SampleText> texts;
    for (std::size_t s = 0; s < sites.size(); ++s) {
        auto const& log = sites[s].text(Stream::signals);
        std::vector<RegionId> regions;
        if (log.pieces > 0)
            for (auto const& settings :
                 logged_settings(run, run.sites.at(s), sites[s].poller_events, sites[s].events).all)
                regions.push_back(settings.site.region);
        texts.push_back({log.text, std::move(regions), receipt_times(sites[s])});
    }
    return samples::parse_samples(texts);
}

PublishedClock published_clock(std::vector<SiteLogs> const& sites)
{
    PublishedClock found;
    for (auto const& site : sites)
        for (auto const stream : journal::all_streams) {
            auto const& log = site.text(stream);
            // Another machine may write the evaluation, and knows no clock.
            if (log.pieces == 0 || stream == Stream::evaluation) continue;
            if (found.is_known && log.clock != found.clock) found.differs = true;
            if (!found.is_known) found.clock = log.clock;
            found.is_known = true;
        }
    return found;
}

namespace {

// The time of the newest line, or `until` if that is later.
std::optional<Time> newest_of(SiteLogs const& logs, std::optional<Time> until)
{
    auto const extend = [&](auto const& lines) {
        for (auto const& line : lines) until = std::max(until.value_or(line.time), line.time);
    };
    extend(logs.poller_events);
    extend(logs.events);
    extend(logs.metrics);
    return until;
}

}  // namespace

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
        publication.lacks_lines = publication.lacks_lines || log.lacks_lines;
        is_published = is_published || log.pieces > 0 || !log.problems.empty();
        reaches_local = reaches_local || log.reaches_local;
        if (log.until) until = std::max(until.value_or(*log.until), *log.until);
    }
    if (!logs.closing_problem.empty()) {
        publication.problems.push_back(logs.closing_problem);
        publication.lacks_lines = true;
    }
    publication.is_remote = is_published && !reaches_local;
    publication.is_missing = !is_published && !reaches_local;
    if (!publication.is_remote) return publication;
    publication.until = newest_of(logs, until);
    return publication;
}

}  // namespace curtail::account
