// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "fixtures.hpp"

namespace curtail::rounds {
namespace {

using test::Chaos;
using test::Simulator;
using test::small_run;
using test::Violation;

/// How a seed's run is set up; all of it follows from the seed.
struct Plan {
    RunSpec run;
    Chaos chaos;
    Millis chaos_time{60'000};
    int end{0};  ///< 0: all go on; 1: a fresh site alone; 2: one survivor alone
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
    plan.run.outer.kind = pick(0, 1) == 1 ? Outer::Kind::nesterov : Outer::Kind::average;
    auto const share = [&](int most) {
        return static_cast<double>(pick(0, 1) * pick(0, most)) / 1000;
    };
    plan.chaos = {share(100), share(60), share(60), share(60),
                  share(60),  share(60), share(60), static_cast<double>(pick(0, 20)) / 20,
                  share(60)};
    plan.end = static_cast<int>(pick(0, 2));
    return plan;
}

/// In calm some site makes a commit at least this often: the last freeze of the chaos, then a lease
/// that died with its holder, a member to be missed, a pause between tries that had grown.
constexpr Seconds longest_wait{40 + 40};

/// One whole run: chaos, then calm, then completion. Throws Violation.
void simulate(std::uint64_t seed, Simulator& s, Plan const& plan)
{
    auto const sites = plan.run.sites.size();
    for (std::size_t i = 0; i < sites; ++i) s.start(i);
    s.run_until(plan.chaos_time, [&] { return s.complete(); });
    s.set_chaos({});
    if (plan.end > 0 && !s.complete()) {
        auto const survivor = plan.end == 2 ? s.any_living() : nullptr;
        s.kill_all_but(survivor);
    }
    for (int tries = 0; tries < 100 && !s.complete(); ++tries) {
        if (s.living_count() == 0) s.start(seed % sites);
        auto const before = s.store().chain().size();
        bool const changed = s.run_until(s.now() + longest_wait,
                                         [&] { return s.complete() || s.living_count() == 0; });
        test::hold(changed || s.store().chain().size() > before,
                   "L1: somebody lives, but no commit was made for too long");
    }
    test::hold(s.complete(), "L1: not complete");
    auto const summary = verify(s.store().source());
    test::hold(summary.has_value(),
               summary ? "" : "the chain does not verify: " + summary.error().message());
    auto const tokens = plan.run.stream_blocks() * plan.run.params.block_tokens;
    test::hold(summary->tip.totals.tokens == tokens, "tokens are not those of the stream");
    auto const* model = s.store().payload(summary->tip.model.parts.at(0));
    test::hold(model != nullptr && *model == test::Tickets(s.store().blocks(), 1),
               "a block is not in the model exactly once");
}

std::int64_t count_from_environment(char const* name, std::int64_t fallback)
{
    char const* text = std::getenv(name);
    return text != nullptr ? std::strtoll(text, nullptr, 10) : fallback;
}

/// CURTAIL_SOAK_SEEDS=n runs n seeds; CURTAIL_SEED=s runs that one and prints its log.
TEST(RoundsSimulation, NothingIsLostOrCountedTwiceWhateverHappens)
{
    auto const only = count_from_environment("CURTAIL_SEED", -1);
    auto const seeds = only >= 0 ? 1 : count_from_environment("CURTAIL_SOAK_SEEDS", 120);
    auto const began = std::chrono::steady_clock::now();
    std::int64_t events = 0;
    std::int64_t commits = 0;
    std::map<std::string, int> states;
    for (std::int64_t i = 0; i < seeds; ++i) {
        auto const seed = static_cast<std::uint64_t>(only >= 0 ? only : i);
        auto const plan = plan_of(seed);
        Simulator s(plan.run, seed, plan.chaos);
        s.keep_log(only >= 0);
        std::string failure;
        try {
            simulate(seed, s, plan);
        } catch (std::exception const& e) {
            failure = e.what();
        }
        for (auto const& line : s.log()) std::printf("%s\n", line.c_str());
        ASSERT_EQ(failure, "") << "at " << s.now().count()
                               << " ms; replay with CURTAIL_SEED=" << seed;
        events += s.events();
        commits += static_cast<std::int64_t>(s.store().chain().size());
        for (auto const& [state, n] : s.states()) states[state] += n;
    }
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    std::printf("%lld seeds, %lld events, %lld commits in %.1f s\n", static_cast<long long>(seeds),
                static_cast<long long>(events), static_cast<long long>(commits), took.count());
    for (auto const& [state, n] : states) std::printf("  %s %d\n", state.c_str(), n);
    if (seeds < 100) return;
    for (auto const* state :
         {"probe", "find", "genesis", "fold", "join", "base", "run", "cut", "publish", "lease",
          "wait", "gather", "merge", "lone", "commit", "adopt", "exited"})
        EXPECT_GT(states[state], 0) << "never in state " << state;
}

}  // namespace
}  // namespace curtail::rounds
