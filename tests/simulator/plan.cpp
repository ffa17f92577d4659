// SPDX-License-Identifier: Apache-2.0
#include "simulator/plan.hpp"

#include <random>

#include "protocol/records/terms.hpp"
#include "protocol/rules/quarantine.hpp"
#include "simulator/small_run.hpp"
#include "simulator/verify_objects.hpp"

namespace curtail::protocol::simulator {
namespace {

// The random numbers of a plan.
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : random_(seed * 7919) {}
    std::int64_t pick(std::int64_t from, std::int64_t to)
    {
        return from +
               static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
    }
    // A probability up to `most` / 1000; 0 in half of all plans.
    double share(std::int64_t most)
    {
        bool const some = pick(0, 1) == 1;
        auto const permille = pick(0, most);
        return some ? static_cast<double>(permille) / 1000 : 0;
    }

  private:
    std::mt19937_64 random_;
};

RunSpec run_of(Draw& draw)
{
    std::vector<SiteId> const names{{"A"}, {"B"}, {"C"}, {"D"}, {"E"}, {"F"}, {"G"}, {"H"}};
    auto const blocks = draw.pick(6, 120);
    auto const sites = draw.pick(fewest_sites, most_sites);
    auto run = small_run(blocks, {names.begin(), names.begin() + sites});
    auto& p = run.params;
    p.grant_quantum = draw.pick(1, 4);
    p.max_staleness = draw.pick(0, 2);
    p.max_undecided = draw.pick(1, 2);
    p.keep_models = draw.pick(1, 3);
    p.milestone_every = draw.pick(0, 1) * 5;
    p.local_steps = draw.pick(0, 3) == 0 ? 5 : 0;
    p.outer_min_permille = 0;
    p.sweep_after = Seconds{10};
    p.repair_wait = Seconds{12};
    run.outer.type = draw.pick(0, 1) == 1 ? Outer::Type::nesterov : Outer::Type::average;
    return run;
}

Chaos chaos_of(Draw& draw)
{
    Chaos chaos;
    chaos.lost_reply = draw.share(100);
    chaos.lost_request = draw.share(60);
    chaos.delayed = draw.share(60);
    chaos.stale_404 = draw.share(60);
    chaos.no_answer = draw.share(60);
    chaos.spoiled = draw.share(60);
    chaos.refused = draw.share(60);
    chaos.faults_per_s = static_cast<double>(draw.pick(0, 20)) / 20;
    chaos.nan = draw.share(60);
    chaos.skipped = draw.share(200);
    chaos.interrupted = draw.share(400);
    return chaos;
}

// Limits that a small run reaches.
RecordLimits limits_of(Draw& draw, std::size_t sites)
{
    RecordLimits limits;
    auto const few = [&] { return static_cast<std::size_t>(draw.pick(2, 4)); };
    // A roster commit fits, and a merge of one contribution of each site does not always.
    limits.bytes = 2100 + 300 * sites + 400 * few();
    limits.header_ranges = few();
    limits.skipped_ranges = few();
    limits.aside_ranges = few();
    limits.held_ranges = few();
    return limits;
}

// Blocks that a fork has done or set aside before it begins. At least one block is left.
std::optional<Origin> origin_of(Draw& draw, RunSpec const& run)
{
    auto const blocks = run.stream_blocks();
    if (blocks < 4) return std::nullopt;
    Origin origin;
    origin.round = {draw.pick(1, 9)};
    origin.done = Ranges::between(0, draw.pick(0, blocks / 2));
    auto const second = draw.pick(blocks / 2 + 1, blocks - 1);
    origin.done += Ranges::between(second, draw.pick(second, blocks - 1));
    if (draw.pick(0, 3) == 0) origin.aside = Ranges::between(blocks - 1, blocks);
    origin.has_momentum = run.outer.type == Outer::Type::nesterov && draw.pick(0, 1) == 1;
    return origin;
}

// Some sites are slower than the others, and some need long to read their first model.
std::vector<Delays> delays_of(Draw& draw, std::size_t sites)
{
    constexpr double factors[] = {1.05, 1.3, 2, 4, 10};
    std::vector<Delays> delays(sites);
    for (auto& delay : delays) {
        delay.slowness = static_cast<double>(draw.pick(50, 150)) / 100;
        if (draw.pick(0, 1) == 0) delay.slowness *= factors[draw.pick(0, 4)];
        if (draw.pick(0, 3) == 0) delay.first_read = draw.pick(2, 10) * Seconds{3};
    }
    return delays;
}

// Time in which a commit decides work of the slowest member, or of one that reads its first model.
Millis drop_after_of(std::vector<Delays> const& delays, Millis round_time)
{
    Millis longest{0};
    for (auto const& delay : delays)
        longest = std::max(longest, Millis{30'000} + delay.first_read +
                                        Millis{static_cast<std::int64_t>(2'000 * delay.slowness)});
    return longest + 2 * round_time;
}

// In a gentle run, faults hit single processes. It is long enough for slow members.
void make_gentle(Draw& draw, Plan& plan)
{
    plan.chaos = {.faults_per_s = plan.chaos.faults_per_s / 4,
                  .gentle = true,
                  .outlier = plan.chaos.outlier,
                  .growth_per_s = plan.chaos.growth_per_s};
    if (plan.origin) return;
    plan.run.blocks_per_epoch += draw.pick(100, 300);
    plan.run.budget = {};
}

// The rounds end by steps, long before `round_time`. One of few sites is much slower.
void make_uneven(Draw& draw, Plan& plan)
{
    plan.chaos.faults_per_s /= 10;
    plan.run.params.local_steps = draw.pick(4, 12);
    plan.run.params.round_time *= draw.pick(2, 10);
    auto const few = static_cast<std::size_t>(draw.pick(2, 3));
    plan.run.sites.resize(std::min(few, plan.run.sites.size()));
    plan.delays.resize(plan.run.sites.size());
    plan.delays.back().slowness = static_cast<double>(draw.pick(4, 12));
}

// Longest time between two commits without faults: a freeze at the end of the chaos, then a lease
// whose holder has died, a member that misses merges, and a grown pause between tries. Then damaged
// headers, which a starting process reads again for 30 s. Before that, it waits up to 60 s for a
// commit that it has seen in a list, and that somebody has removed.
constexpr Seconds longest_wait{40 + 40 + 30 + 60};

// A silent member is removed later if others are slow. A site reads a damaged model several times.
Millis longest_wait_in(Plan const& plan)
{
    Millis wait = longest_wait + plan.run.params.drop_after;
    for (auto const& delay : plan.delays)
        wait = std::max(wait, longest_wait + 10 * delay.first_read);
    return wait;
}

// Returns true if each site with a living process is in quarantine. Some of these may be over by
// the store's clock, but not by the clock of a process that does not know of a jump.
bool all_wait_in_quarantine(Simulator const& s, std::vector<SiteId> const& sites)
{
    auto const& chain = s.store().chain();
    for (std::size_t i = 0; i < sites.size(); ++i) {
        bool const waits =
            !chain.empty() && quarantine_of(chain.back(), sites[i], Time{}) != nullptr;
        if (s.site_of(i) != nullptr && !waits) return false;
    }
    return true;
}

// Returns whether a commit was made, or the run or its last process has ended.
bool proceeds(Simulator& s, Millis time)
{
    auto const before = s.store().chain().size();
    bool const ended =
        s.run_until(s.now() + time, [&] { return s.complete() || s.living_count() == 0; });
    return ended || s.store().chain().size() > before;
}

void continue_without_faults(Simulator& s, Plan const& plan)
{
    auto const wait = longest_wait_in(plan);
    s.store().restore_commits();  // as an operator would do
    s.store().remove_foreign_commits();
    for (int tries = 0; tries < 100 && !s.complete(); ++tries) {
        if (s.living_count() == 0) s.start(0);
        // A quarantine ends by the store's clock, which may have jumped back.
        bool const proceeding = proceeds(s, wait) || (all_wait_in_quarantine(s, plan.run.sites) &&
                                                      proceeds(s, 2 * most_clock_offset));
        require(proceeding, Invariant::progress,
                "a site is alive, but no commit was made for too long");
    }
    require(s.complete(), Invariant::progress, "the run is not complete");
}

void verify(Simulator& s, RecordLimits const& limits)
{
    auto const summary = verify_objects(s.store().source(), limits);
    require(summary.has_value(), Invariant::commit,
            [&] { return "the chain is invalid: " + summary.error().message(); });
}

void check_result(Simulator& s, RunSpec const& run)
{
    auto const& tip = s.store().chain().back();
    auto const used = Ranges::between(0, in_force(run, tip).stream_blocks()) - tip.aside;
    require(tip.totals.tokens == used.count() * run.params.block_tokens, Invariant::model,
            "tokens differ from those of the stream");
    auto const* model = s.store().payload(tip.model.weights);
    require(model != nullptr && *model == tickets_of(used, s.store().blocks()), Invariant::model,
            "the model does not contain each block exactly once");
}

}  // namespace

Plan plan_of(std::uint64_t seed)
{
    Draw draw(seed);
    Plan plan;
    plan.run = run_of(draw);
    plan.chaos = chaos_of(draw);
    plan.ending = static_cast<Plan::Ending>(draw.pick(0, 2));
    if (draw.pick(0, 3) == 0) {
        auto const data = plan.run.stream_blocks() * plan.run.params.block_tokens;
        plan.run.budget = Tokens{draw.pick(1, data.value)};
    }
    plan.verifies = draw.pick(0, 3) == 0;
    plan.chaos.damaged_header = draw.share(100);
    plan.chaos.stalled = draw.share(30);
    plan.chaos.corrupt_get = draw.share(30);
    plan.chaos.outlier = draw.share(200);
    plan.chaos.growth_per_s = static_cast<double>(draw.pick(9, 11)) / 10;
    if (draw.pick(0, 7) == 0) plan.origin = origin_of(draw, plan.run);
    if (plan.origin) plan.run = forked(plan.run);
    auto const kind = draw.pick(0, 9);
    if (kind > 2) {
        if (draw.pick(0, 2) == 0) plan.run.limits = limits_of(draw, plan.run.sites.size());
        return plan;
    }
    plan.delays = delays_of(draw, plan.run.sites.size());
    if (kind > 0) make_gentle(draw, plan);
    if (kind > 1) make_uneven(draw, plan);
    plan.run.params.drop_after = drop_after_of(plan.delays, plan.run.params.round_time);
    plan.run.params.keep_models = draw.pick(40, 50);  // more than the rounds of the longest read
    if (draw.pick(0, 2) > 0) return plan;
    plan.run.limits = limits_of(draw, plan.run.sites.size());
    plan.run.limits.bytes += 2'000;  // a long run's norms and models
    return plan;
}

void complete_run(Simulator& s, Plan const& plan)
{
    if (plan.origin) s.store_fork(*plan.origin);
    for (std::size_t i = 0; i < plan.delays.size(); ++i) {
        s.set_slowness(i, plan.delays[i].slowness);
        s.set_first_read(i, plan.delays[i].first_read);
    }
    for (std::size_t i = 0; i < plan.run.sites.size(); ++i) s.start(i);
    s.run_until(plan.chaos_time, [&] { return s.complete(); });
    Chaos calm;
    calm.gentle = plan.chaos.gentle;
    s.set_chaos(calm);
    if (plan.ending != Plan::Ending::all_continue && !s.complete())
        s.kill_all_but(plan.ending == Plan::Ending::one_survives ? s.any_living() : nullptr);
    continue_without_faults(s, plan);
    s.check_losses();
    s.store().heal();
    check_result(s, plan.run);
    if (plan.verifies) verify(s, plan.run.limits);
}

}  // namespace curtail::protocol::simulator
