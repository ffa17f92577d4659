// SPDX-License-Identifier: Apache-2.0
#include "account/files.hpp"

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "rounds/names.hpp"
#include "runlog/poller_state.hpp"
#include "signals/trace.hpp"

namespace curtail::account {
namespace {

namespace fs = std::filesystem;

Result<void> read_sites(RunFiles& files)
{
    for (auto const& site : files.run.sites) {
        auto const folder = files.run.site_folder(site.site);
        auto events = runlog::read_events(folder / "events.jsonl");
        if (!events) return tl::unexpected(events.error());
        auto metrics = runlog::read_metrics(folder / "metrics.jsonl");
        if (!metrics) return tl::unexpected(metrics.error());
        files.broken_lines += events->broken_lines + metrics->broken_lines;
        files.sites.push_back({std::move(events->events), std::move(metrics->steps)});
    }
    return {};
}

// A file's name for people. Bytes that are not text are escaped, so that the document stays UTF-8.
std::string name_of(fs::path const& file) { return printable(file.filename().string()); }

fs::path samples_file(config::Run const& run) { return run.poller_folder() / "signals.jsonl"; }

Result<void> read_signal(RunFiles& files, std::optional<fs::path> const& path)
{
    if (path) {
        auto const trace = signals::read_trace(*path);
        if (!trace) return tl::unexpected(trace.error());
        files.trace = trace->series();
        files.trace_name = name_of(*path);
        files.trace_from_file = true;
        return {};
    }
    auto samples = signals::read_sample_log(samples_file(files.run));
    if (!samples) return tl::unexpected(samples.error());
    files.broken_lines += samples->broken_lines;
    files.averages = std::move(samples->averages);
    if (samples->regions.empty()) return {};
    files.estimated_samples = samples->estimated;
    files.trace = std::move(samples->regions);
    std::string providers;
    for (auto const& provider : samples->providers)
        providers += (providers.empty() ? ", from " : ", ") + provider;
    files.trace_name = "samples the poller used" + providers;
    return {};
}

// Adds the digest of an input, so that others can check that they have the same. `content` is
// empty if the input does not exist.
Result<void> add_digest(RunFiles& files, std::string const& name,
                        Result<std::optional<std::string>> const& content)
{
    if (!content) return tl::unexpected(content.error());
    if (*content)
        files.digests.emplace_back(
            name, fmt::format("{}  {} bytes", sha256(**content).hex(), (*content)->size()));
    return {};
}

Result<void> read_averages(RunFiles& files, fs::path const& path)
{
    auto const trace = signals::read_trace(path);
    if (!trace) return tl::unexpected(trace.error());
    files.averages = trace->series();
    return add_digest(files, "average intensity: " + name_of(path), read_file_if_exists(path));
}

// The time until which the poller has decided all windows, from its state.
Result<std::optional<Time>> read_evaluated_until(fs::path const& state_file)
{
    auto const sites = runlog::read_poller_sites(state_file);
    if (!sites) return tl::unexpected(sites.error());
    std::optional<Time> earliest;
    if (!*sites) return earliest;
    for (auto const& site : **sites) {
        if (!site.evaluated_until) return earliest;
        earliest = std::min(earliest.value_or(*site.evaluated_until), *site.evaluated_until);
    }
    return earliest;
}

// Reads the clock, what the poller logged and decided, and what the sites logged.
Result<void> read_logs(RunFiles& files)
{
    auto const clock = read_clock(files.run.folder);
    if (!clock) return tl::unexpected(clock.error());
    files.clock = *clock;
    auto poller = runlog::read_events(files.run.poller_folder() / "events.jsonl");
    if (!poller) return tl::unexpected(poller.error());
    files.poller_events = std::move(poller->events);
    files.broken_lines = poller->broken_lines;
    auto const until = read_evaluated_until(files.run.poller_folder() / "state.json");
    if (!until) return tl::unexpected(until.error());
    files.evaluated_until = *until;
    return read_sites(files);
}

using NamedFile = std::pair<fs::path, std::string>;

Result<void> add_digests_of(RunFiles& files, std::vector<NamedFile> const& named)
{
    for (auto const& [path, name] : named)
        if (auto added = add_digest(files, name, read_file_if_exists(path)); !added) return added;
    return {};
}

// Reads the commits; returns run.json. A run whose store does not exist (yet) has neither.
Result<std::optional<std::string>> read_store(RunFiles& files)
{
    auto const store = store::open_store(files.run.store);
    if (!store && store.error().code == ExitCode::unavailable) return std::nullopt;
    if (!store) return tl::unexpected(store.error());
    chain::RunObjects const objects(**store, files.run.run);
    auto commits = read_commits(objects);
    if (!commits) return tl::unexpected(commits.error());
    files.commits = std::move(*commits);
    auto run_json = objects.record(rounds::run_name);
    if (!run_json || !*run_json) return run_json;
    auto spec = rounds::decode_run(**run_json);
    if (!spec) return tl::unexpected(spec.error());
    files.spec = std::move(*spec);
    return run_json;
}

Result<void> add_digests(RunFiles& files, std::optional<fs::path> const& trace,
                         std::optional<std::string> const& run_json)
{
    if (auto added = add_digests_of(files, {{files.run.file, name_of(files.run.file)},
                                            {trace ? *trace : samples_file(files.run),
                                             trace ? name_of(*trace) : "poller signals.jsonl"}});
        !added)
        return added;
    if (auto added = add_digest(files, "store run.json", run_json); !added) return added;
    std::vector<NamedFile> named{
        {files.run.data.folder / "manifest.json", "data manifest.json"},
        {files.run.poller_folder() / "events.jsonl", "poller events.jsonl"}};
    for (auto const& site : files.run.sites)
        for (char const* file : {"events.jsonl", "metrics.jsonl"})
            named.emplace_back(files.run.site_folder(site.site) / file,
                               site.site.value + " " + file);
    return add_digests_of(files, named);
}

}  // namespace

Result<RunFiles> load_run(fs::path const& run_file, std::optional<fs::path> const& trace_file,
                          std::optional<fs::path> const& average_file)
{
    RunFiles files;
    auto run = config::read_run(run_file);
    if (!run) return tl::unexpected(run.error());
    files.run = std::move(*run);
    // The logs come second: of a run in progress, they then have all work that the commits include.
    auto const run_json = read_store(files);
    if (!run_json) return tl::unexpected(run_json.error());
    if (auto read = read_logs(files); !read) return tl::unexpected(read.error());
    auto const evaluation = runlog::read_evaluation(files.run.folder / "evaluation.json");
    if (!evaluation) return tl::unexpected(evaluation.error());
    files.evaluation = *evaluation;
    if (auto read = read_signal(files, trace_file); !read) return tl::unexpected(read.error());
    if (auto added = add_digests(files, trace_file, *run_json); !added)
        return tl::unexpected(added.error());
    if (!average_file) return files;
    if (auto read = read_averages(files, *average_file); !read) return tl::unexpected(read.error());
    return files;
}

}  // namespace curtail::account
