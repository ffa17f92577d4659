// SPDX-License-Identifier: Apache-2.0
#include "simulator/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "simulator/plan.hpp"

namespace curtail::protocol::simulator {
namespace {

constexpr std::size_t trace_lines = 40;

// The seed of one run of a campaign's seed.
std::uint64_t seed_of_run(std::uint64_t seed, std::int64_t run)
{
    return seed * 1'000'003 + static_cast<std::uint64_t>(run);
}

void count(Simulator const& s, Amount& amount)
{
    ++amount.runs;
    amount.steps += s.steps();
    amount.events += s.events();
    amount.commits += static_cast<std::int64_t>(s.store().chain().size());
    for (auto const& [state, n] : s.states()) amount.states[state] += n;
}

std::vector<std::string> last_lines(std::vector<std::string> const& log)
{
    auto const n = static_cast<std::ptrdiff_t>(std::min(log.size(), trace_lines));
    return {log.end() - n, log.end()};
}

// Simulates one run again, with its log.
std::vector<std::string> trace_of(std::uint64_t seed, std::optional<Fault> fault)
{
    auto const plan = plan_of(seed);
    Simulator s(plan.run, seed, plan.chaos, fault);
    s.keep_log(true);
    try {
        complete_run(s, plan);
    } catch (Violation const&) {
    }
    return last_lines(s.log());
}

// Simulates one run, adds it to `amount`, and returns true unless it broke an invariant.
std::optional<Violation> simulate(std::uint64_t seed, std::optional<Fault> fault, std::ostream* log,
                                  Amount& amount)
{
    auto const plan = plan_of(seed);
    Simulator s(plan.run, seed, plan.chaos, fault);
    s.trace_to(log);
    std::optional<Violation> violation;
    try {
        complete_run(s, plan);
    } catch (Violation const& v) {
        violation = v;
    }
    count(s, amount);
    return violation;
}

// One seed of a campaign.
struct SeedOutcome {
    Amount amount{};
    std::optional<Failure> failure{};
};

SeedOutcome run_seed(std::uint64_t seed, std::int64_t steps, std::optional<Fault> fault,
                     std::ostream* log)
{
    SeedOutcome outcome;
    while (outcome.amount.steps < steps && !outcome.failure) {
        auto const of_run = seed_of_run(seed, outcome.amount.runs);
        auto const violation = simulate(of_run, fault, log, outcome.amount);
        if (!violation) continue;
        outcome.failure = Failure{seed,
                                  outcome.amount.runs,
                                  outcome.amount.steps,
                                  violation->invariant,
                                  violation->what(),
                                  trace_of(of_run, fault)};
    }
    return outcome;
}

// The threads of a campaign: what they share.
class Crew {
  public:
    Crew(Campaign const& campaign, std::function<void(std::int64_t)> const& progress)
        : campaign_(campaign), progress_(progress), next_(campaign.first)
    {
    }

    void work()
    {
        for (auto seed = next_++; seed <= campaign_.last; seed = next_++) {
            auto log = open_log(seed);
            bool const logs = !campaign_.log_folder.empty();
            add(run_seed(seed, campaign_.steps, campaign_.fault, logs ? &log : nullptr));
            if (logs && !log.flush()) fail_log(seed);
        }
    }

    Result<Outcome> take()
    {
        if (error_) return tl::unexpected(*error_);
        std::sort(outcome_.failures.begin(), outcome_.failures.end(),
                  [](Failure const& a, Failure const& b) { return a.seed < b.seed; });
        return std::move(outcome_);
    }

  private:
    [[nodiscard]] std::string log_path(std::uint64_t seed) const
    {
        return campaign_.log_folder + "/" + std::to_string(seed) + ".log";
    }
    [[nodiscard]] std::ofstream open_log(std::uint64_t seed) const
    {
        if (campaign_.log_folder.empty()) return {};
        return std::ofstream(log_path(seed));
    }
    void fail_log(std::uint64_t seed)
    {
        std::lock_guard const lock(mutex_);
        error_ = Error{ExitCode::cannot_create, "cannot write the log " + log_path(seed),
                       "the folder is missing, not writable or full", "choose another folder"};
        next_ = campaign_.last + 1;
    }
    void add(SeedOutcome seed)
    {
        std::lock_guard const lock(mutex_);
        outcome_.amount += seed.amount;
        if (seed.failure) outcome_.failures.push_back(std::move(*seed.failure));
        progress_(++finished_);
    }

    Campaign const& campaign_;
    std::function<void(std::int64_t)> const& progress_;
    std::atomic<std::uint64_t> next_;
    std::mutex mutex_;
    std::int64_t finished_{0};
    Outcome outcome_;
    std::optional<Error> error_;
};

}  // namespace

Amount& Amount::operator+=(Amount const& other)
{
    runs += other.runs;
    steps += other.steps;
    events += other.events;
    commits += other.commits;
    for (auto const& [state, n] : other.states) states[state] += n;
    return *this;
}

Detection detect(Fault fault, std::uint64_t first, std::int64_t limit)
{
    Detection detection{fault, 0, {}};
    for (auto seed = first; detection.steps < limit && !detection.failure; ++seed) {
        auto outcome = run_seed(seed, 1, fault, nullptr);
        detection.steps += outcome.amount.steps;
        detection.failure = std::move(outcome.failure);
    }
    return detection;
}

Result<Outcome> run_campaign(Campaign const& campaign,
                             std::function<void(std::int64_t)> const& progress)
{
    Crew crew(campaign, progress);
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < campaign.threads; ++i) threads.emplace_back([&] { crew.work(); });
    crew.work();
    threads.clear();
    return crew.take();
}

}  // namespace curtail::protocol::simulator
