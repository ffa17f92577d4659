// SPDX-License-Identifier: Apache-2.0
#include "bill/account/files.hpp"

#include "bill/account/clocks.hpp"

#include <fmt/format.h>

#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "run/journal/local_file.hpp"
#include "run/runlog/poller_state.hpp"
#include "run/samples/trace.hpp"

namespace curtail::account {
namespace {

namespace fs = std::filesystem;

// A file's name for people. Bytes that are not text are escaped, so that the document stays UTF-8.
std::string name_of(fs::path const& file) { return printable(file.filename().string()); }

Result<void> read_signal(RunFiles& files, std::optional<fs::path> const& path,
                         std::vector<SiteLogs> const& logs)
{
    if (path) {
        auto const trace = samples::read_trace(*path);
        if (!trace) return tl::unexpected(trace.error());
        files.trace = trace->series();
        files.trace_name = name_of(*path);
        files.trace_from_file = true;
        return {};
    }
    auto samples = read_samples(files.run, logs);
    if (!samples) return tl::unexpected(samples.error());
    files.broken_lines += samples->broken_lines;
    files.averages = std::move(samples->averages);
    if (samples->regions.empty()) return {};
    files.estimated_samples = samples->estimated;
    files.contradicting_samples = samples->contradictions;
    files.trace = std::move(samples->regions);
    std::string providers;
    for (auto const& provider : samples->providers)
        providers += (providers.empty() ? ", from " : ", ") + provider;
    files.trace_name = "samples the poller used" + providers;
    return {};
}

// Adds the digest of an input, so that others can check that they have the same.
void add_text_digest(RunFiles& files, std::string const& name, std::string_view text)
{
    files.digests.emplace_back(name, fmt::format("{}  {} bytes", sha256(text).hex(), text.size()));
}

// `content` is empty if the input does not exist.
Result<void> add_digest(RunFiles& files, std::string const& name,
                        Result<std::optional<std::string>> const& content)
{
    if (!content) return tl::unexpected(content.error());
    if (*content) add_text_digest(files, name, **content);
    return {};
}

Result<void> read_averages(RunFiles& files, fs::path const& path)
{
    auto const trace = samples::read_trace(path);
    if (!trace) return tl::unexpected(trace.error());
    files.averages = trace->series();
    return add_digest(files, "average intensity: " + name_of(path), read_file_if_exists(path));
}

// The time until which the poller has evaluated a site's windows, if the site's samples tell it.
std::optional<Time> newest_sample_of(SiteLogs const& logs)
{
    std::array const texts{samples::SampleText{logs.text(journal::Stream::signals).text, {}}};
    std::optional<Time> newest;
    for (auto const& series : samples::parse_samples(texts).regions)
        if (!series.points.empty())
            newest =
                std::max(newest.value_or(series.points.back().time), series.points.back().time);
    return newest;
}

// The time until which the pollers have evaluated all windows: from the state of the local poller,
// and for other sites from their samples.
Result<std::optional<Time>> read_evaluated_until(config::Run const& run,
                                                 std::vector<SiteLogs> const& logs)
{
    auto const local = runlog::read_poller_sites(run.poller_folder() / "state.json");
    if (!local) return tl::unexpected(local.error());
    std::optional<Time> earliest;
    for (std::size_t s = 0; s < run.sites.size(); ++s) {
        std::optional<Time> until;
        if (*local)
            for (auto const& known : **local)
                if (known.site == run.sites[s].site) until = known.evaluated_until;
        if (!until) until = newest_sample_of(logs[s]);
        if (!until) return std::optional<Time>{};
        earliest = std::min(earliest.value_or(*until), *until);
    }
    return earliest;
}

Result<std::vector<SiteLogs>> read_all_logs(config::Run const& run,
                                            std::shared_ptr<store::ObjectStore> const& store)
{
    journal::LogReader const reader(run, store);
    std::vector<SiteLogs> all;
    for (auto& logs : read_all_site_logs(run, reader)) {
        if (!logs) return tl::unexpected(logs.error());
        all.push_back(std::move(*logs));
    }
    return all;
}

using NamedFile = std::pair<fs::path, std::string>;

Result<void> add_digests_of(RunFiles& files, std::vector<NamedFile> const& named)
{
    for (auto const& [path, name] : named)
        if (auto added = add_digest(files, name, read_file_if_exists(path)); !added) return added;
    return {};
}

// Reads the commits; returns run.json.
Result<std::optional<std::string>> read_chain(RunFiles& files, store::ObjectStore& store,
                                              chain::CacheSettings const& cache)
{
    chain::RecordCache records(cache, files.run.store, files.run.run);
    chain::RunObjects const objects(store, files.run.run, &records);
    auto commits = read_commits(objects);
    if (!commits) return tl::unexpected(commits.error());
    files.commits = std::move(commits->commits);
    auto run_json = objects.record(protocol::run_name);
    if (!run_json || !*run_json) return run_json;
    auto spec = protocol::decode_run(**run_json);
    if (!spec) return tl::unexpected(spec.error());
    files.spec = commits->terms ? protocol::with_terms(std::move(*spec), *commits->terms) : *spec;
    return run_json;
}

// Opens the store. Returns a null pointer if the store does not exist (yet).
Result<std::shared_ptr<store::ObjectStore>> open_store(config::Run const& run)
{
    auto store = store::open_store(run.store);
    if (store) return std::shared_ptr<store::ObjectStore>(std::move(*store));
    if (store.error().code == ExitCode::unavailable) return nullptr;
    return tl::unexpected(store.error());
}

// The name of a log in the list of inputs.
std::string name_of(SiteId const& site, journal::Stream stream)
{
    bool const is_poller = stream == journal::Stream::poller || stream == journal::Stream::signals;
    auto const file = journal::local_file({}, site, stream).filename().string();
    return site.value + (is_poller ? " poller " : " ") + file;
}

Result<void> add_digests(RunFiles& files, std::optional<fs::path> const& trace,
                         std::optional<std::string> const& run_json,
                         std::vector<SiteLogs> const& logs)
{
    std::vector<NamedFile> named{{files.run.file, name_of(files.run.file)}};
    if (trace) named.emplace_back(*trace, name_of(*trace));
    if (auto added = add_digests_of(files, named); !added) return added;
    if (auto added = add_digest(files, "store run.json", run_json); !added) return added;
    named = {{files.run.data.folder / "manifest.json", "data manifest.json"},
             {files.run.poller_folder() / "events.jsonl", "poller events.jsonl"}};
    if (!trace)
        named.emplace_back(files.run.poller_folder() / "signals.jsonl", "poller signals.jsonl");
    if (auto added = add_digests_of(files, named); !added) return added;
    for (std::size_t s = 0; s < logs.size(); ++s)
        for (auto const stream : journal::all_streams) {
            auto const& log = logs[s].text(stream);
            if (log.is_missing() || (trace && stream == journal::Stream::signals)) continue;
            add_text_digest(files, name_of(files.run.sites[s].site, stream), log.text);
        }
    return {};
}

}  // namespace

Result<void> take_logs(RunFiles& files, std::vector<SiteLogs> logs)
{
    auto const clock = read_run_clock(files.run, logs);
    if (!clock) return tl::unexpected(clock.error());
    files.clock = *clock;
    auto common = read_common_events(files.run);
    if (!common) return tl::unexpected(common.error());
    files.poller_events = std::move(common->events);
    files.broken_lines += common->broken_lines;
    auto const until = read_evaluated_until(files.run, logs);
    if (!until) return tl::unexpected(until.error());
    files.evaluated_until = *until;
    for (auto& site : logs) {
        files.broken_lines += site.broken_lines;
        auto publication = publication_of(site);
        files.poller_events.insert(files.poller_events.end(),
                                   std::make_move_iterator(site.poller_events.begin()),
                                   std::make_move_iterator(site.poller_events.end()));
        files.sites.push_back({std::move(site.events), std::move(site.metrics),
                               std::move(publication), std::move(site.evaluations)});
        files.sites.back().set_back = correct_times(files.sites.back());
    }
    return {};
}

Result<RunFiles> load_run(fs::path const& run_file, std::optional<fs::path> const& trace_file,
                          std::optional<fs::path> const& average_file,
                          chain::CacheSettings const& cache)
{
    RunFiles files;
    auto run = config::read_run(run_file);
    if (!run) return tl::unexpected(run.error());
    files.run = std::move(*run);
    auto const store = open_store(files.run);
    if (!store) return tl::unexpected(store.error());
    // The logs come second: of a run in progress, they then have all work that the commits include.
    auto const run_json =
        *store ? read_chain(files, **store, cache) : Result<std::optional<std::string>>{};
    if (!run_json) return tl::unexpected(run_json.error());
    auto logs = read_all_logs(files.run, *store);
    if (!logs) return tl::unexpected(logs.error());
    auto const evaluation = runlog::read_evaluation(files.run.folder / "evaluation.json");
    if (!evaluation) return tl::unexpected(evaluation.error());
    files.evaluation = *evaluation;
    if (auto read = read_signal(files, trace_file, *logs); !read)
        return tl::unexpected(read.error());
    if (auto added = add_digests(files, trace_file, *run_json, *logs); !added)
        return tl::unexpected(added.error());
    if (auto taken = take_logs(files, std::move(*logs)); !taken)
        return tl::unexpected(taken.error());
    if (!average_file) return files;
    if (auto read = read_averages(files, *average_file); !read) return tl::unexpected(read.error());
    return files;
}

}  // namespace curtail::account
