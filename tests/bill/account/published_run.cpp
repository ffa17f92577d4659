// SPDX-License-Identifier: Apache-2.0
#include "bill/account/published_run.hpp"

#include <algorithm>
#include <fstream>

#include "base/core/clock_file.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "bill/account/synthetic_run.hpp"
#include "protocol/chain/chain.hpp"
#include "protocol/records/names.hpp"
#include "run/journal/local_file.hpp"
#include "run/runlog/held_out.hpp"
#include "run/samples/sample_log.hpp"
#include "run/samples/trace.hpp"

namespace curtail::account::test {
namespace {

namespace fs = std::filesystem;

std::string joined(std::vector<std::string> const& lines)
{
    std::string text;
    for (auto const& line : lines) text += line + "\n";
    return text;
}

Time time_of(std::string const& line, TimeScale const& clock, journal::Stream stream)
{
    auto const time = json::parse(line, "line").value().as_object()->time_at("time").value();
    if (stream != journal::Stream::signals) return time;
    return clock.real_origin + std::chrono::round<Millis>((time - clock.origin) / clock.factor);
}

}  // namespace

PublishedTestRun::PublishedTestRun(fs::path folder) : folder_(std::move(folder))
{
    write_synthetic_run(folder_, {});
    run_ = config::read_run(run_file()).value();
    clock_ = read_clock(run_.folder).value().value();
    auto const trace = samples::read_trace(folder_ / "trace.csv").value();
    for (auto const& site : run_.sites) {
        samples::SampleLog log(run_.poller_folder(site.site) / "signals.jsonl");
        log.add(site.region, trace.samples(site.region).value());
        (void)log.write();
    }
    store_ = store::open_store(run_.store).value();
    commits_ = chain::read_chain({*store_, run_.run}, chain::Check::links).value();
    fixing_ = 2 * commits_.size() / 3;
    evaluate();
    cut_into_pieces();
    publish(content_, true);
    for (auto const* name : {"sites", "poller", "clock.json", "evaluation.json"})
        fs::remove_all(folder_ / name);
}

// The first site evaluates each fourth model.
void PublishedTestRun::evaluate() const
{
    auto const file = journal::local_file(run_, run_.sites[0].site, journal::Stream::evaluation);
    fs::create_directories(file.parent_path());
    std::ofstream out(file);
    for (std::size_t i = 1; i < commits_.size(); i += 4) {
        auto const& commit = commits_[i];
        runlog::HeldOutLine line{commit.time + Seconds{1},
                                 commit.number,
                                 commit.round,
                                 commit.totals.tokens,
                                 commit.model.weights.sha256,
                                 sha256(std::string_view("manifest"))};
        line.tokens = {40'960};
        line.loss = 7 - 0.01 * static_cast<double>(i);
        line.standard_error = 0.01;
        line.unigram_entropy = 6.75;
        out << json::to_string(runlog::to_json(line)) << "\n";
    }
}

// A piece ends with each third commit.
void PublishedTestRun::cut_into_pieces()
{
    for (auto const& site : run_.sites)
        for (auto const stream : journal::all_streams) {
            auto const text = read_file_if_exists(journal::local_file(run_, site.site, stream));
            if (!*text) continue;
            auto& pieces = content_[{site.site, stream}];
            std::size_t next = 0;
            for (auto const line : split(**text, '\n')) {
                if (line.empty()) continue;
                auto const time = time_of(std::string(line), clock_, stream);
                while (next < commits_.size() && commits_[next].time < time) next += 3;
                auto const end = next < commits_.size() ? commits_[next].time
                                                        : commits_.back().time + Seconds{9};
                if (pieces.empty() || pieces.back().written != end) pieces.push_back({{}, end});
                pieces.back().lines.emplace_back(line);
            }
        }
}

std::size_t PublishedTestRun::fixed(std::pair<SiteId, journal::Stream> const& stream) const
{
    auto const& pieces = content_.at(stream);
    return static_cast<std::size_t>(std::ranges::count_if(pieces, [&](PieceContent const& piece) {
        return piece.written <= commits_[fixing_ - 1].time;
    }));
}

void PublishedTestRun::put(std::string const& name, std::string const& bytes) const
{
    (void)store_->put(*chain::object_name(run_.run, name), store::bytes_of(bytes));
}

void PublishedTestRun::publish(JournalContent const& content, bool forges_commits)
{
    fs::remove_all(folder_ / "store/runs/demo/journal");
    fs::remove_all(folder_ / "cache");
    heads_.clear();
    for (auto const& [key, pieces] : content) {
        journal::StreamId const id{run_.run, key.first, key.second};
        journal::PieceHeader header;
        header.first = {1};
        header.clock = clock_;
        for (auto const& piece : pieces) {
            auto const text = joined(piece.lines);
            ++header.number.value;
            header.range = {header.range.to, header.range.to + std::ssize(text)};
            header.content = sha256(text);
            header.time = piece.written;
            header.more = &piece != &pieces.back();
            auto const bytes = journal::encode(id, header, text);
            (void)store_->put(*journal::piece_name(id, header.number), store::bytes_of(bytes));
            header.previous = sha256(bytes);
            heads_[key].push_back({header.number.value, *header.previous});
        }
    }
    if (forges_commits) write_commits();
    auto const newest = store_->get(
        *chain::object_name(run_.run, protocol::commit_name(commits_.back().number)), {1 << 20});
    for (auto const& site : run_.sites) {
        protocol::Closing closing{run_.run, site.site, 1, {}, {}, commits_.back().time};
        closing.commit =
            protocol::CommitRef{commits_.back().number, sha256(store::text_of(*newest.value()))};
        for (auto const& [key, heads] : heads_)
            if (key.first == site.site && !heads.empty())
                closing.heads[journal::name(key.second)] = heads.back();
        put(protocol::closing_name(site.site, 1), protocol::encode(closing).bytes);
    }
}

void PublishedTestRun::write_commits()
{
    for (std::size_t i = 0; i < commits_.size(); ++i) {
        auto& commit = commits_[i];
        commit.heads = i > 0 ? commits_[i - 1].heads : decltype(commit.heads){};
        for (auto const& [key, heads] : heads_) {
            auto const& pieces = content_.at(key);
            for (std::size_t p = 0; p < std::min(heads.size(), pieces.size()); ++p)
                if (i < fixing_ && pieces[p].written <= commit.time)
                    commit.heads[key.first][journal::name(key.second)] = heads[p];
        }
        if (i > 0) commit.parent = protocol::encode(commits_[i - 1]).sha256;
        put(protocol::commit_name(commit.number), protocol::encode(commit).bytes);
    }
}

void PublishedTestRun::keep_local(JournalContent const& content)
{
    for (auto const* name : {"store/runs/demo/journal", "store/runs/demo/closing", "cache"})
        fs::remove_all(folder_ / name);
    heads_.clear();
    write_commits();
    fs::remove(run_.folder / "clock.json");
    (void)make_clock(run_.folder, clock_);
    for (auto const& [key, pieces] : content) {
        auto const file = journal::local_file(run_, key.first, key.second);
        fs::create_directories(file.parent_path());
        std::ofstream out(file);
        for (auto const& piece : pieces) out << joined(piece.lines);
    }
}

}  // namespace curtail::account::test
