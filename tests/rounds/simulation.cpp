// SPDX-License-Identifier: Apache-2.0
#include "rounds/simulator/simulator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "fixtures.hpp"
#include "rounds/terms.hpp"

namespace curtail::rounds {
namespace {

using test::Chaos;
using test::Simulator;
using test::small_run;
using test::Violation;

// Set-up of one simulated run, determined by the seed.
struct Plan {
    RunSpec run;
    Chaos chaos;
    Millis chaos_time{60'000};
    int end{0};  // after the chaos: 0: all continue; 1: one new site; 2: one survivor
};

Plan plan_of(std::uint64_t seed)
{
    std::mt19937_64 random(seed * 7919);
    auto const pick = [&](std::int64_t from, std::int64_t to) {
        return from +
               static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
    };
    std::vector<SiteId> const names{{"A"}, {"B"}, {"C"}, {"D"}, {"E"}};
    Plan plan;
    plan.run = small_run(pick(6, 120), {names.begin(), names.begin() + pick(1, 5)});
    auto& p = plan.run.params;
    p.grant_quantum = pick(1, 4);
    p.max_staleness = pick(0, 2);
    p.max_undecided = pick(1, 2);
    p.keep_models = pick(1, 3);
    p.milestone_every = pick(0, 1) * 5;
    p.local_steps = pick(0, 3) == 0 ? 5 : 0;
    p.outer_min_permille = 0;
    p.sweep_after = Seconds{10};
    p.repair_wait = Seconds{12};
    plan.run.outer.type = pick(0, 1) == 1 ? Outer::Type::nesterov : Outer::Type::average;
    auto const share = [&](int most) {
        return static_cast<double>(pick(0, 1) * pick(0, most)) / 1000;
    };
    plan.chaos = {share(100), share(60), share(60), share(60),
                  share(60),  share(60), share(60), static_cast<double>(pick(0, 20)) / 20,
                  share(60),  share(200)};
    plan.end = static_cast<int>(pick(0, 2));
    if (pick(0, 3) == 0) {
        auto const data = plan.run.stream_blocks() * p.block_tokens;
        plan.run.budget = Tokens{pick(1, data.value)};
    }
    return plan;
}

// Longest time between two commits without faults: a freeze at the end of the chaos, then a lease
// whose holder has died, a member that misses merges, and a grown pause between tries. Then damaged
// headers, which a starting process reads again for 30 s.
constexpr Seconds longest_wait{40 + 40 + 40};

// One whole run: a time with faults, then without, until complete. Throws Violation.
void simulate(Simulator& s, Plan const& plan)
{
    for (std::size_t i = 0; i < plan.run.sites.size(); ++i) s.start(i);
    s.run_until(plan.chaos_time, [&] { return s.complete(); });
    s.set_chaos({});
    if (plan.end > 0 && !s.complete()) {
        auto const survivor = plan.end == 2 ? s.any_living() : nullptr;
        s.kill_all_but(survivor);
    }
    for (int tries = 0; tries < 100 && !s.complete(); ++tries) {
        if (s.living_count() == 0) s.start(0);
        auto const before = s.store().chain().size();
        bool const changed = s.run_until(s.now() + longest_wait,
                                         [&] { return s.complete() || s.living_count() == 0; });
        test::require(changed || s.store().chain().size() > before,
                      "L1: a site is alive, but no commit was made for too long");
    }
    test::require(s.complete(), "L1: not complete");
    s.store().heal();
    auto const summary = chain::verify_objects(s.store().source());
    test::require(summary.has_value(),
                  summary ? "" : "the chain is invalid: " + summary.error().message());
    auto const& tip = summary->tip;
    auto const used = Ranges::between(0, in_force(plan.run, tip).stream_blocks()) - tip.aside;
    test::require(tip.totals.tokens == used.count() * plan.run.params.block_tokens,
                  "tokens differ from those of the stream");
    auto const* model = s.store().payload(tip.model.parts.at(0));
    test::require(model != nullptr && *model == test::tickets_of(used, s.store().blocks()),
                  "the model does not contain each block exactly once");
}

// The seeds to run, `[first, last]`.
struct Seeds {
    std::uint64_t first{0};
    std::uint64_t last{119};
    bool chosen{false};  // by CURTAIL_SEED
};

Seeds seeds_from_environment()
{
    if (char const* text = std::getenv("CURTAIL_SEED"); text != nullptr) {
        char* end = nullptr;
        auto const first = std::strtoull(text, &end, 10);
        bool const range = std::string_view(end).starts_with("..");
        return {first, range ? std::strtoull(end + 2, nullptr, 10) : first, true};
    }
    char const* count = std::getenv("CURTAIL_SOAK_SEEDS");
    if (count == nullptr) return {};
    return {0, std::max<std::uint64_t>(1, std::strtoull(count, nullptr, 10)) - 1, false};
}

// Opens the seed's log file; closed unless CURTAIL_SIM_LOGS is set.
std::ofstream open_trace(std::uint64_t seed)
{
    char const* folder = std::getenv("CURTAIL_SIM_LOGS");
    if (folder == nullptr) return {};
    std::ofstream file(std::string(folder) + "/" + std::to_string(seed) + ".log");
    if (!file) throw std::runtime_error(std::string("cannot write into ") + folder);
    return file;
}

// CURTAIL_SOAK_SEEDS=n runs seeds 0 to n - 1. CURTAIL_SEED=s runs that seed and prints its log.
// CURTAIL_SEED=a..b runs a range of seeds. With CURTAIL_SIM_LOGS=FOLDER each of them writes every
// input and output of every Site to FOLDER/<seed>.log.
TEST(RoundsSimulation, NoWorkIsLostOrCountedTwiceUnderAnyFaults)
{
    auto const seeds = seeds_from_environment();
    auto const count = seeds.last - seeds.first + 1;
    auto const began = std::chrono::steady_clock::now();
    std::int64_t events = 0;
    std::int64_t commits = 0;
    std::map<std::string, int> states;
    std::map<std::string, int> repairs;
    for (auto seed = seeds.first; seed <= seeds.last; ++seed) {
        auto const plan = plan_of(seed);
        Simulator s(plan.run, seed, plan.chaos);
        s.keep_log(seeds.chosen && count == 1);
        auto trace = open_trace(seed);
        if (trace.is_open()) s.trace_to(&trace);
        std::string failure;
        try {
            simulate(s, plan);
        } catch (std::exception const& e) {
            failure = e.what();
        }
        for (auto const& line : s.log()) std::printf("%s\n", line.c_str());
        ASSERT_EQ(failure, "") << "at " << s.now().count()
                               << " ms; replay with CURTAIL_SEED=" << seed;
        events += s.events();
        commits += static_cast<std::int64_t>(s.store().chain().size());
        for (auto const& [state, n] : s.states()) states[state] += n;
        for (auto const& [note, n] : s.notes())
            if (note.starts_with("repair") || note == "damaged") repairs[note] += n;
    }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    std::printf("%lld seeds, %lld events, %lld commits in %.1f s\n", static_cast<long long>(count),
                static_cast<long long>(events), static_cast<long long>(commits), took.count());
    for (auto const& [state, n] : states) std::printf("  %s %d\n", state.c_str(), n);
    for (auto const& [note, n] : repairs) std::printf("  %s: %d\n", note.c_str(), n);
    if (count < 100) return;
    for (auto const* state :
         {"probe", "find", "genesis", "fold", "join", "base", "run", "cut", "publish", "lease",
          "wait", "gather", "merge", "lone", "commit", "adopt", "repair", "exited"})
        EXPECT_GT(states[state], 0) << "state never reached: " << state;
    for (auto const* note :
         {"damaged", "repair-requested", "repaired by a copy", "repaired by a recipe"})
        EXPECT_GT(repairs[note], 0) << "never happened: " << note;
}

}  // namespace
}  // namespace curtail::rounds
