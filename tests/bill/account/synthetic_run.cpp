// SPDX-License-Identifier: Apache-2.0
#include "bill/account/synthetic_run.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/core/clock.hpp"
#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"
#include "protocol/records/names.hpp"
#include "protocol/records/record.hpp"
#include "protocol/records/terms.hpp"
#include "run/runlog/configuration.hpp"
#include "run/runlog/event.hpp"
#include "run/samples/trace.hpp"
#include "support/paths.hpp"

namespace curtail::account::test {
namespace {

namespace fs = std::filesystem;

constexpr double end_of_trace = 64'800;
constexpr double exchange_s = 0.3;
constexpr Tokens step_tokens{2048};
std::vector<std::string> const names{"CAISO_NORTH", "SPP_TX", "NEM_SA"};

struct Window {
    std::size_t site;
    double open;  // trace seconds
    double dirty;
    double close;
    // When the signal was dirty for a sample's period, as in the trace.
    std::vector<double> peaks{};
};
constexpr double period_s = 300;
std::vector<Window> const windows{{0, 300, 7500, 8100},
                                  {0, 8400, 23100, 23700},
                                  {2, 16800, 54600, 55200},
                                  {1, 36300, 61500, 62100, {36900, 59100}}};

// Not atomic and not durable, so that making a run takes no time.
void put(fs::path const& path, std::string const& content)
{
    fs::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

class Maker {
  public:
    Maker(fs::path folder, Synthetic how) : folder_(std::move(folder)), how_(std::move(how)) {}

    void configure()
    {
        json::Array sites;
        for (auto const& name : names) {
            auto const file = "sites-in/" + name + ".json";
            put(folder_ / file,
                json::to_pretty(json::Object{
                    {"site", name},
                    {"region", region(name)},
                    {"label", "private cluster" + how_.region_suffix},
                    {"devices", "2 CPU ranks" + how_.region_suffix},
                    {"ranks", 2},
                    {"power", json::Object{{"idle_kw", 0.468},
                                           {"training_kw", 2.024},
                                           {"pue", 1},
                                           {"between_jobs", "released"}}},
                    {"launcher", json::Object{{"kind", "local"}, {"script", "none.sh"}}}}));
            sites.emplace_back(file);
        }
        put(folder_ / "model.json",
            R"({"name": "demo", "depth": 2, "sequence": 256, "vocabulary": 2048})");
        put(folder_ / "run.json",
            json::to_pretty(
                json::Object{{"run", "demo"},
                             {"folder", "."},
                             {"store", "file:store"},
                             {"model", "model.json"},
                             {"data", json::Object{{"folder", "data"}}},
                             {"training", json::Object{{"batch_tokens", step_tokens.value}}},
                             {"rounds", json::Object{{"block_tokens", step_tokens.value}}},
                             {"sites", sites}}));
        write_trace();
    }

    void happen()
    {
        put(folder_ / "clock.json",
            json::to_string(json::Object{{"origin", format_time(clock_.origin)},
                                         {"real_origin", format_time(clock_.real_origin)},
                                         {"factor", how_.factor}}));
        store_spec();
        commit(protocol::Commit::Kind::genesis, real(300) + Millis{900}, {});
        for (auto const& name : names) log_configuration(name);
        for (auto const& w : windows) schedule(w);
        for (int i = 0; i < how_.chatter; ++i)
            events_[0].push_back(
                {real(9000) + Millis{i},
                 "cut",
                 names[0],
                 {{"member", names[0] + ".00000002.2"}, {"seq", i}, {"tokens", 2048}}});
        train();
        std::stable_sort(poller_.begin(), poller_.end(),
                         [](auto const& a, auto const& b) { return a.time < b.time; });
        for (std::size_t s = 0; s < names.size(); ++s) {
            write_poller_events(names[s]);
            auto& events = events_[s];
            std::stable_sort(events.begin(), events.end(),
                             [](auto const& a, auto const& b) { return a.time < b.time; });
            write_events(folder_ / "sites" / names[s] / "events.jsonl", events, true);
            put(folder_ / "sites" / names[s] / "metrics.jsonl", metrics_[s]);
        }
        auto const until = signal_text(std::min(how_.stop_at, end_of_trace));
        json::Array sites;
        for (auto const& name : names)
            sites.emplace_back(json::Object{{"site", name}, {"evaluated_until", until}});
        put(folder_ / "poller/state.json", json::to_string(json::Object{{"sites", sites}}));
        if (how_.evaluated)
            put(folder_ / "evaluation.json",
                json::to_string(json::Object{{"commit", number_},
                                             {"held_out_loss_nats", 4.875},
                                             {"unigram_entropy_nats", 6.75},
                                             {"tokens", 40'960}}));
    }

  private:
    void log_configuration(std::string const& site)
    {
        auto const text = [&](std::string const& name) {
            return read_file(folder_ / name).value();
        };
        runlog::Configuration const configuration{
            {{"run.json", text("run.json")},
             {"model.json", text("model.json")},
             {site + ".json", text("sites-in/" + site + ".json")}},
            {{"kind", "trace"}, {"sha256", sha256(text("trace.csv")).hex()}},
            {}};
        poller_.push_back(runlog::to_event(configuration, real(1), site));
    }
    void write_poller_events(std::string const& site)
    {
        std::vector<runlog::Event> mine;
        std::copy_if(poller_.begin(), poller_.end(), std::back_inserter(mine),
                     [&](runlog::Event const& event) { return event.site == site; });
        write_events(folder_ / "poller/sites" / site / "events.jsonl", mine, false);
    }

    struct Job {
        std::size_t site;
        Time first;  // real: trains from here
        Time stop;
        std::string member;
        std::int64_t seq{0};
    };

    [[nodiscard]] std::string region(std::string const& name) const
    {
        return name == names[0] ? name + how_.region_suffix : name;
    }
    [[nodiscard]] Time real(double trace_s) const
    {
        auto const shown = std::chrono::round<Millis>(FractionalSeconds(trace_s));
        std::chrono::duration<double, std::milli> const passed(shown);
        return clock_.real_origin + std::chrono::round<Millis>(passed * (1 / clock_.factor));
    }
    [[nodiscard]] std::string signal_text(double trace_s) const
    {
        return format_time(clock_.origin + std::chrono::round<Millis>(FractionalSeconds(trace_s)));
    }
    [[nodiscard]] bool recorded(Time time) const { return time <= real(how_.stop_at); }

    void write_trace()
    {
        auto content =
            read_file(curtail::test::source_folder() / "signals/mci_2026-01-11.csv").value();
        std::string out;
        int row = 0;
        for (auto const line : split(content, '\n')) {
            if (trim(line).empty()) continue;
            auto cells = split(line, ',');
            std::string made(cells[0]);
            for (std::size_t i = 1; i < cells.size(); ++i) {
                bool const missing = how_.gaps && row > 0 && (row % 40) < 5;
                made += "," + (missing ? "" : std::string(cells[i]));
            }
            out += made + "\n";
            ++row;
        }
        put(folder_ / "trace.csv", out);
        trace_ = samples::parse_trace(out, "trace.csv").value();
    }

    [[nodiscard]] double monotonic_s(Time time) const
    {
        return 1000 + FractionalSeconds(time - clock_.real_origin).count();
    }

    void write_events(fs::path const& path, std::vector<runlog::Event> const& events,
                      bool is_trainer) const
    {
        std::string lines;
        for (auto const& event : events) {
            if (!recorded(event.time)) continue;
            json::Object line{
                {"time", format_time(event.time)}, {"type", event.type}, {"site", event.site}};
            for (auto const& [key, value] : event.details.members()) line.set(key, value);
            if (is_trainer) line.set("monotonic_s", monotonic_s(event.time));
            lines += json::to_string(line) + "\n";
        }
        put(path, lines);
    }

    void poll(double trace_s, double late_s, std::string type, std::size_t site,
              json::Object details)
    {
        poller_.push_back({real(trace_s) + std::chrono::round<Millis>(FractionalSeconds(late_s)),
                           std::move(type), names[site], std::move(details)});
    }
    // The intensity of a site's region at a second of the trace.
    [[nodiscard]] std::optional<double> intensity_at(double at, std::size_t site) const
    {
        auto const time = clock_.origin + std::chrono::round<Millis>(FractionalSeconds(at));
        auto const samples = trace_->samples({names[site]}, Time::min(), time);
        if (!samples || samples->empty() || !samples->back().intensity) return std::nullopt;
        return samples->back().intensity->value;
    }
    void decide(double at, std::size_t site, char const* from, char const* to, char const* reason)
    {
        poll(at, 0.05, "decision", site,
             {{"signal_time", signal_text(at)},
              {"from", from},
              {"to", to},
              {"reason", reason},
              {"intensity_gco2_per_kwh", intensity_at(at, site)}});
    }

    void schedule(Window const& w)
    {
        auto const window = signal_text(w.open);
        auto const job = std::to_string(++job_);
        decide(w.open, w.site, "closed", "open", "clean");
        poll(w.open, 0.06, "window-open", w.site, {{"window", window}, {"signal_time", window}});
        poll(w.open, 0.1, "job-submitted", w.site, {{"window", window}, {"job", job}});
        poll(w.open, 1.1, "job-started", w.site, {{"window", window}, {"job", job}});
        for (auto const peak : w.peaks) {
            decide(peak, w.site, "open", "closing", "turned-dirty");
            decide(peak + period_s, w.site, "closing", "open", "recovered");
        }
        decide(w.dirty, w.site, "open", "closing", "turned-dirty");
        decide(w.close, w.site, "closing", "closed", "delay-over");
        poll(w.close, 0.06, "window-close", w.site,
             {{"window", window}, {"signal_time", signal_text(w.close)}});
        poll(w.close, 0.1, "job-drained", w.site,
             {{"window", window}, {"job", job}, {"why", "window closed"}});
        poll(w.close, 1.3, "job-ended", w.site,
             {{"window", window}, {"job", job}, {"state", "COMPLETED"}, {"exit_code", 0}});
        Time const open = real(w.open);
        Time const stop = real(w.close) + Millis{250};
        auto& events = events_[w.site];
        auto const member = names[w.site] + ".0000000" + job + "." + job;
        events.push_back(
            {open + Millis{500}, "state", names[w.site], {{"state", "starting"}, {"job", job}}});
        events.push_back({open + Millis{510},
                          "trainer-start",
                          names[w.site],
                          {{"job", job},
                           {"ranks", 2},
                           {"commit", number_},
                           {"build", json::Object{{"version", "0.1.0"}, {"commit", "abc"}}}}});
        events.push_back({open + Millis{1400},
                          "joined",
                          names[w.site],
                          {{"member", member}, {"commit", number_}}});
        events.push_back({stop, "stop-requested", names[w.site], {}});
        events.push_back({stop, "state", names[w.site], {{"state", "draining"}, {"job", job}}});
        events.push_back({stop + Millis{700}, "left", names[w.site], {{"seq", 9}}});
        events.push_back(
            {stop + Millis{800}, "state", names[w.site], {{"state", "ended"}, {"job", job}}});
        events.push_back({stop + Millis{810}, "trainer-exit", names[w.site], {{"code", 0}}});
        jobs_.push_back({w.site, open + Millis{2000}, stop, member});
    }

    // `own`: steps of the site since the model that it trains from.
    void step(std::size_t site, Time end, std::int64_t number, std::int64_t own, Millis took)
    {
        auto const progress = totals_.tokens + own * step_tokens;
        double const loss =
            4.6 + 3.0 * std::exp(-static_cast<double>(progress) / 2.5e5) + noise_(random_);
        if (!recorded(end)) return;
        metrics_[site] += json::to_string(json::Object{{"time", format_time(end)},
                                                       {"step", number},
                                                       {"round", round_},
                                                       {"tokens", step_tokens.value},
                                                       {"progress_tokens", progress.value},
                                                       {"loss", loss},
                                                       {"lr_scale", 1.0},
                                                       {"step_s", FractionalSeconds(took).count()},
                                                       {"monotonic_s", monotonic_s(end)}}) +
                          "\n";
    }

    // Rounds one after the other: all sites that are ready train, then exchange.
    void train()
    {
        std::map<std::string, std::int64_t> steps;
        for (Time t = jobs_.front().first; t < real(end_of_trace);) {
            std::vector<Job*> open;
            for (auto& job : jobs_)
                if (job.first <= t && t < job.stop) open.push_back(&job);
            if (open.empty()) {
                t += Millis{100};
                continue;
            }
            Time end = t + std::chrono::round<Millis>(FractionalSeconds(how_.round_s));
            for (auto const* job : open) end = std::min(end, job->stop);
            Millis const pace = open.size() > 1 ? how_.step * 10 / 7 : how_.step;
            std::vector<protocol::ContributionDecision> decided;
            for (auto* job : open) {
                auto& mine = steps[job->member];
                auto const before = mine;
                std::string const job_number(1, job->member[names[job->site].size() + 8]);
                events_[job->site].push_back(
                    {t, "state", names[job->site], {{"state", "training"}, {"job", job_number}}});
                for (Time at = t + pace; at <= end; at += pace) {
                    if (mine == 0)
                        events_[job->site].push_back(
                            {at, "first-step", names[job->site], {{"round", round_}}});
                    step(job->site, at, mine + 1, mine - before, pace);
                    ++mine;
                }
                ++job->seq;
                auto const made = mine - before;
                // A trainer leaves the state with its last step.
                Time const last = t + made * pace;
                if (last < job->stop)
                    events_[job->site].push_back({last,
                                                  "state",
                                                  names[job->site],
                                                  {{"state", "exchange"}, {"job", job_number}}});
                events_[job->site].push_back({end + Millis{100},
                                              "contributed",
                                              names[job->site],
                                              {{"member", job->member},
                                               {"seq", job->seq},
                                               {"tokens", (made * step_tokens).value}}});
                protocol::ContributionDecision d;
                d.member = {job->member};
                d.seq = {job->seq};
                d.tokens = made * step_tokens;
                d.steps = made;
                d.ranges = protocol::Ranges::between(block_, block_ + made);
                d.norm = open.size() > 1 ? 0.125 : 0;
                d.inlined = open.size() == 1;
                if (how_.refuses) spoil(d, job->site);
                if (!d.inlined) d.header = sha256(job->member);
                block_ += made;
                if (made > 0) decided.push_back(d);
            }
            Time const merged = end + Millis{static_cast<int>(exchange_s * 1000)};
            std::sort(decided.begin(), decided.end(),
                      [](auto const& a, auto const& b) { return a.member < b.member; });
            if (recorded(merged) && !decided.empty())
                commit(protocol::Commit::Kind::merge, merged, decided);
            t = merged;
        }
    }

    static void spoil(protocol::ContributionDecision& d, std::size_t site)
    {
        if (site == 2) d.norm *= 8;
        if (site != 1) return;
        d.refused = protocol::Refusal::digest;
        d.norm = 0;
        d.inlined = false;
    }

    // run.json of the store: two passes over 1200 blocks, more than the run trains on.
    void store_spec()
    {
        protocol::RunSpec spec;
        spec.run = {"demo"};
        spec.model = {{"layers", 2}};
        spec.manifest = sha256(std::string_view("manifest"));
        spec.blocks_per_epoch = 1200;
        spec.epochs = 2;
        spec.tensors = {"w0"};
        spec.params.block_tokens = step_tokens;
        for (auto const& name : names) spec.sites.push_back({name});
        std::sort(spec.sites.begin(), spec.sites.end());
        if (how_.refuses) spec.params.round_time = spec.params.checkpoint_interval = Seconds{3};
        terms_ = protocol::terms_of(spec);
        if (how_.amended_blocks > 0) terms_.budget = how_.amended_blocks * step_tokens;
        auto const encoded = protocol::encode(spec);
        put(folder_ / "store/runs/demo" / protocol::run_name, encoded.bytes);
        parent_ = encoded.sha256;
    }

    void commit(protocol::Commit::Kind kind, Time time,
                std::vector<protocol::ContributionDecision> decided)
    {
        protocol::Commit c;
        c.run = {"demo"};
        c.number = {++number_};
        c.parent = parent_;
        c.kind = kind;
        if (kind == protocol::Commit::Kind::merge) ++round_;
        c.round = {round_};
        for (auto const& d : decided) {
            if (d.refused) continue;
            totals_.tokens += d.tokens;
            totals_.steps += d.steps;
        }
        c.totals = totals_;
        c.done = protocol::Ranges::between(0, block_);
        float const scale = 1.0F / static_cast<float>(std::max<std::size_t>(1, decided.size()));
        for (auto& d : decided) d.scale = d.inlined || d.refused ? 0 : scale;
        c.decided = decided;
        if (how_.refuses) {
            c.norms.assign(8, 0.125);
            for (auto const& d : decided)
                if (d.refused && d.seq.value % 5 == 0) {
                    c.removed.push_back({d.member, protocol::Removal::quarantined});
                    c.quarantine.push_back({{names[1]}, time + Seconds{15}, *d.refused});
                }
        }
        c.by = {decided.empty() ? MemberId{"CAISO_NORTH.00000001.0"} : decided.front().member, 1};
        c.model = {{round_},
                   {"w0", protocol::model_name({round_}, c.by.member, 1, "w0"), 4'000'000,
                    sha256(std::to_string(round_))}};
        recent_.push_back({{round_}, c.number});
        if (recent_.size() > 4) recent_.erase(recent_.begin());
        c.recent = recent_;
        c.time = time;
        c.terms = terms_;
        auto const encoded = protocol::encode(c);
        put(folder_ / "store/runs/demo" / protocol::commit_name(c.number), encoded.bytes);
        parent_ = encoded.sha256;
    }

    fs::path folder_;
    Synthetic how_;
    TimeScale clock_{parse_time("2026-01-11T17:00Z").value(),
                     parse_time("2026-11-21T09:00:00.500Z").value(), how_.factor};
    std::optional<samples::Trace> trace_;
    std::vector<runlog::Event> poller_;
    std::map<std::size_t, std::vector<runlog::Event>> events_;
    std::map<std::size_t, std::string> metrics_;
    std::vector<Job> jobs_;
    int job_{0};
    std::int64_t block_{0};
    std::int64_t round_{1};
    std::int64_t number_{0};
    protocol::Terms terms_;
    protocol::Totals totals_;
    std::vector<protocol::RecentMerge> recent_;
    Digest parent_{sha256(std::string_view("run.json"))};
    std::mt19937 random_{42};
    std::normal_distribution<double> noise_{0, 0.05};
};

}  // namespace

void write_synthetic_run(fs::path const& folder, Synthetic const& how)
{
    Maker maker(folder, how);
    maker.configure();
    if (!how.empty) maker.happen();
}

}  // namespace curtail::account::test
