// SPDX-License-Identifier: Apache-2.0
#include "bill/account/files.hpp"

#include <fmt/format.h>

#include <map>

#include "base/core/clock_file.hpp"
#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "bill/account/clocks.hpp"
#include "bill/account/signal.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/terms.hpp"
#include "run/journal/closing.hpp"
#include "run/journal/local_file.hpp"
#include "run/journal/run_digest.hpp"
#include "run/runlog/poller_state.hpp"
#include "run/samples/trace.hpp"

namespace curtail::account {
namespace {

namespace fs = std::filesystem;

// A file's name for people. Bytes that are not text are escaped, so that the document stays UTF-8.
std::string name_of(fs::path const& file) { return printable(file.filename().string()); }

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
    std::array const texts{samples::SampleText{.text = logs.text(journal::Stream::signals).text,
                                               .checks_answers = false}};
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

// Adds what the sites' closings name. Returns what is wrong with the closings, by site: that is a
// matter of the site's owner, and keeps nobody from a report.
Result<std::map<SiteId, std::string>> add_closings(CommitList& chain, config::Run const& run,
                                                   store::ObjectStore& store)
{
    std::map<SiteId, std::string> wrong;
    for (auto const& site : run.sites) {
        auto const closing = journal::newest_closing(store, run.run, site.site);
        if (!closing && !journal::is_damaged(closing.error()))
            return tl::unexpected(closing.error());
        if (!closing) wrong[site.site] = closing.error().message();
        if (!closing || !*closing) continue;
        journal::add_named_pieces(chain.named, **closing);
        if (!journal::fits((*closing)->commit, chain.digests))
            wrong[site.site] =
                fmt::format("{} names commit {}, which the run lacks or has another one of",
                            protocol::closing_name(site.site, (*closing)->number),
                            (*closing)->commit->number.value);
    }
    return wrong;
}

Result<std::vector<SiteLogs>> read_all_logs(config::Run const& run,
                                            std::shared_ptr<store::ObjectStore> const& store,
                                            CommitList chain)
{
    std::map<SiteId, std::string> wrong;
    if (store) {
        auto added = add_closings(chain, run, *store);
        if (!added) return tl::unexpected(added.error());
        wrong = std::move(*added);
    }
    journal::LogReader const reader(run, store, {}, std::move(chain.named));
    std::vector<SiteLogs> all;
    for (auto& logs : read_all_site_logs(run, reader)) {
        if (!logs) return tl::unexpected(logs.error());
        if (auto const found = wrong.find(run.sites[all.size()].site); found != wrong.end())
            logs->closing_problem = "the closing of journal/" + found->first.value +
                                    ", with lines from its begin to its end: " + found->second;
        all.push_back(std::move(*logs));
    }
    return all;
}

// The digest of all that the bill is computed from.
Digest digest_of(config::Run const& run, CommitList const& chain,
                 std::optional<TimeScale> const& clock, std::vector<SiteLogs> const& logs)
{
    journal::RunEvidence evidence{run.run, {}, {}};
    if (!chain.digests.empty())
        evidence.commit = protocol::CommitRef{{std::ssize(chain.digests)}, chain.digests.back()};
    for (std::size_t s = 0; s < logs.size(); ++s)
        for (auto const stream : journal::all_streams) {
            auto const& log = logs[s].text(stream);
            auto digest = journal::log_digest(run.sites[s].site, stream, log.text, log.lacks_lines,
                                              log.pieces > 0 ? log.clock : clock);
            if (digest) evidence.logs.push_back(std::move(*digest));
        }
    return journal::run_digest(std::move(evidence));
}

using NamedFile = std::pair<fs::path, std::string>;

Result<void> add_digests_of(RunFiles& files, std::vector<NamedFile> const& named)
{
    for (auto const& [path, name] : named)
        if (auto added = add_digest(files, name, read_file_if_exists(path)); !added) return added;
    return {};
}

// Reads run.json and the commits, if there is a store.
Result<CommitList> read_chain(RunFiles& files, std::shared_ptr<store::ObjectStore> const& store,
                              chain::CacheSettings const& cache)
{
    if (!store) return CommitList{};
    chain::RecordCache records(cache, files.run.store, files.run.run);
    chain::RunObjects const objects(*store, files.run.run, &records);
    auto chain = read_commits(objects);
    if (!chain) return chain;
    files.commits = chain->commits;
    auto const run_json = objects.record(protocol::run_name);
    if (!run_json) return tl::unexpected(run_json.error());
    if (!*run_json) return chain;
    add_text_digest(files, "store run.json", **run_json);
    auto spec = protocol::decode_run(**run_json);
    if (!spec) return tl::unexpected(spec.error());
    files.spec = chain->terms ? protocol::with_terms(std::move(*spec), *chain->terms) : *spec;
    return chain;
}

// Opens the store. Returns a null pointer if the store does not exist (yet).
Result<std::shared_ptr<store::ObjectStore>> open_store(config::Run const& run)
{
    auto store = store::open_store(run.store);
    if (store) return std::shared_ptr<store::ObjectStore>(std::move(*store));
    if (store.error().code == ExitCode::unavailable) return nullptr;
    return tl::unexpected(store.error());
}

Result<void> add_digests(RunFiles& files, std::optional<fs::path> const& trace,
                         std::vector<SiteLogs> const& logs)
{
    std::vector<NamedFile> named{{files.run.file, name_of(files.run.file)}};
    if (trace) named.emplace_back(*trace, name_of(*trace));
    named.emplace_back(files.run.data.folder / "manifest.json", "data manifest.json");
    if (auto added = add_digests_of(files, named); !added) return added;
    for (std::size_t s = 0; s < logs.size(); ++s)
        for (auto const stream : journal::all_streams) {
            auto const& log = logs[s].text(stream);
            if (log.is_missing() || (trace && stream == journal::Stream::signals)) continue;
            add_text_digest(files, log_name(files.run.sites[s].site, stream), log.text);
        }
    return {};
}

// Adds what the sites' own logs contain.
void add_logs(RunFiles& files, std::vector<SiteLogs> logs)
{
    for (auto& site : logs) {
        for (auto const stream : journal::all_streams)
            files.add_broken(log_name(files.run.sites[files.sites.size()].site, stream),
                             site.broken_lines.at(static_cast<std::size_t>(stream)));
        auto publication = publication_of(site);
        files.poller_events.insert(files.poller_events.end(),
                                   std::make_move_iterator(site.poller_events.begin()),
                                   std::make_move_iterator(site.poller_events.end()));
        files.sites.push_back({std::move(site.events), std::move(site.metrics),
                               std::move(publication), std::move(site.evaluations)});
        files.sites.back().set_back = correct_times(files.sites.back());
    }
}

std::shared_ptr<RunFiles const> fixed_files(RunFiles const& files,
                                            std::vector<SiteLogs> const& logs)
{
    auto fixed = std::make_shared<RunFiles>();
    fixed->run = files.run;
    fixed->commits = files.commits;
    fixed->spec = files.spec;
    std::vector<SiteLogs> parts;
    parts.reserve(logs.size());
    for (auto const& site : logs) parts.push_back(fixed_part(site));
    fixed->clock = published_clock(parts).clock;
    if (files.trace_from_file) {
        fixed->trace = files.trace;
        fixed->trace_name = files.trace_name;
        fixed->trace_from_file = true;
    } else {
        take_samples(*fixed, parts);
    }
    add_logs(*fixed, std::move(parts));
    return fixed;
}

// Adds what the logs and the signal contain, and a second bill if there is to be one.
Result<void> add_logs_and_signal(RunFiles& files, LoadOptions const& options,
                                 std::vector<SiteLogs> const& logs)
{
    if (auto taken = take_logs(files, logs); !taken) return taken;
    auto other_trace = read_signal(files, options.trace, logs);
    if (!other_trace) return tl::unexpected(other_trace.error());
    if (auto added = add_digests(files, options.trace, logs); !added) return added;
    if (options.averages)
        if (auto read = read_averages(files, *options.averages); !read) return read;
    if (options.recalculate || *other_trace)
        files.recalculated = recalculated(files, options.recalculate, std::move(*other_trace));
    return {};
}

}  // namespace

Result<void> take_logs(RunFiles& files, std::vector<SiteLogs> logs)
{
    auto const local_clock = read_clock(files.run.folder);
    if (!local_clock) return tl::unexpected(local_clock.error());
    auto const published = published_clock(logs);
    files.clock = published.is_known ? published.clock : *local_clock;
    files.clock_differs = published.differs || (*local_clock && *local_clock != files.clock);
    auto const until = read_evaluated_until(files.run, logs);
    if (!until) return tl::unexpected(until.error());
    files.evaluated_until = *until;
    add_logs(files, std::move(logs));
    return {};
}

Result<RunFiles> load_run(fs::path const& run_file, LoadOptions const& options)
{
    RunFiles files;
    auto run = config::read_run(run_file);
    if (!run) return tl::unexpected(run.error());
    files.run = std::move(*run);
    auto const store = open_store(files.run);
    if (!store) return tl::unexpected(store.error());
    // The logs come second: of a run in progress, they then have all work that the commits include.
    auto const chain = read_chain(files, *store, options.cache);
    if (!chain) return tl::unexpected(chain.error());
    auto logs = read_all_logs(files.run, *store, *chain);
    if (!logs) return tl::unexpected(logs.error());
    auto const evaluation = runlog::read_evaluation(files.run.folder / "evaluation.json");
    if (!evaluation) return tl::unexpected(evaluation.error());
    files.evaluation = *evaluation;
    if (auto added = add_logs_and_signal(files, options, *logs); !added)
        return tl::unexpected(added.error());
    files.run_digest = digest_of(files.run, *chain, files.clock, *logs);
    files.fixed = fixed_files(files, *logs);
    for (std::size_t s = 0; options.keeps_logs && s < logs->size(); ++s)
        for (auto const stream : journal::all_streams)
            if (auto const& log = (*logs)[s].text(stream); !log.text.empty())
                files.logs.emplace_back(fmt::format("{}-{}.jsonl", files.run.sites[s].site.value,
                                                    journal::name(stream)),
                                        log.text);
    return files;
}

}  // namespace curtail::account
