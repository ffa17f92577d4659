// SPDX-License-Identifier: Apache-2.0
// Sweeps of simulated runs with faults. The simulator checks that every pending contribution can be
// merged, that the newest models are in the store, and that the model includes each block once.
#include <gtest/gtest.h>

#include <random>

#include "protocol/records/fixtures.hpp"
#include "protocol/upkeep/sweep.hpp"
#include "simulator/simulator.hpp"
#include "simulator/verify_objects.hpp"

namespace curtail::upkeep {
namespace {

using protocol::simulator::Chaos;
using protocol::simulator::Simulator;

class Sweeper {
  public:
    Sweeper(Simulator& simulator, protocol::Params const& params, std::uint64_t seed)
        : simulator_(simulator), params_(params), random_(seed)
    {
    }

    // Sweeps with any commit as the newest one that the sweeper has read, as if it had slept since.
    // All objects count as old.
    void sweep()
    {
        auto const& chain = simulator_.store().chain();
        NeededPayloads needed(params_);
        auto const known = std::uniform_int_distribution<std::size_t>(
            random_() % 2 == 0 ? 0 : chain.size(), chain.size())(random_);
        for (std::size_t i = 0; i < known; ++i) needed.add(chain[i]);
        std::vector<std::string> names;
        for (auto const& [name, content] : simulator_.store().payloads()) names.push_back(name);
        for (auto const& name : names) {
            StoredObject const object{name, {1}, from_unix_ms(0)};
            if (!is_deletion(decide(needed, object, from_unix_ms(0), {Millis{0}}))) continue;
            simulator_.store().remove(name);
            ++deleted_;
        }
    }
    [[nodiscard]] int deleted() const { return deleted_; }

  private:
    Simulator& simulator_;
    protocol::Params params_;
    std::mt19937_64 random_;
    int deleted_{0};
};

TEST(SimulatedSweep, NeverDeletesWhatARunStillNeeds)
{
    int deleted = 0;
    int completed = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        auto run = protocol::test::small_run(150);
        run.params.keep_models = 1 + static_cast<std::int64_t>(seed % 3);
        run.params.milestone_every = seed % 2 == 0 ? 4 : 0;
        run.params.outer_min_permille = 0;
        if (seed % 4 < 2) run.outer.type = protocol::Outer::Type::nesterov;
        Chaos chaos;
        chaos.lost_reply = chaos.delayed = chaos.stale_404 = chaos.no_answer = 0.03;
        chaos.faults_per_s = 0.3;
        Simulator s(run, seed, chaos);
        Sweeper sweeper(s, run.params, seed);
        for (std::size_t i = 0; i < run.sites.size(); ++i) s.start(i);
        try {
            for (int second = 0; second < 600 && !s.complete(); ++second) {
                if (second == 60) {
                    s.set_chaos({});
                    s.store().restore_commits();
                }
                if (s.living_count() == 0) s.start(0);  // amendments never retire it
                s.run_until(s.now() + Seconds{1}, [&] { return s.complete(); });
                sweeper.sweep();
            }
            completed += s.complete() ? 1 : 0;
            s.store().heal();
            auto const verified = protocol::simulator::verify_objects(s.store().source());
            EXPECT_TRUE(verified) << "seed " << seed << ": " << verified.error().message();
        } catch (protocol::simulator::Violation const& violation) {
            FAIL() << "seed " << seed << ": " << violation.what();
        }
        deleted += sweeper.deleted();
    }
    EXPECT_EQ(completed, 60);
    EXPECT_GT(deleted, 100);
}

}  // namespace
}  // namespace curtail::upkeep
