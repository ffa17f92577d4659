// SPDX-License-Identifier: Apache-2.0
// Random histories: windows open and close, polls crash between intent, action and outcome, answers
// and signals get lost, jobs fail. CURTAIL_SEED=N replays one history.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "poller/plan/plan.hpp"

namespace curtail::plan {
namespace {

// One site's Slurm. It starts jobs after a while and loses signals and answers. A submission whose
// answer was lost may appear up to `latest` seconds later. It ignores singleton, so mistakes of
// the plan become visible.
class Cluster {
  public:
    Cluster(std::mt19937_64& random, int latest) : random_(random), latest_(latest) {}

    Outcome submit(Action const& action, Time now)
    {
        if (chance(0.1)) return {Outcome::Status::refused, {}, "no"};
        bool const answered = chance(0.85);
        bool const arrives = answered || chance(0.5);
        if (arrives) {
            auto const delay =
                answered ? 0 : static_cast<int>(random_() % static_cast<unsigned>(latest_ + 1));
            jobs_.push_back({{{std::to_string(++last_)},
                              action.window,
                              action.intent,
                              Job::State::pending,
                              "",
                              {},
                              {},
                              {}},
                             now + Seconds(delay),
                             false});
        }
        if (!answered) return {Outcome::Status::unknown, {}, "timed out"};
        return {Outcome::Status::done, {std::to_string(last_)}, {}};
    }

    Outcome stop(Action const& action, Time now)
    {
        if (chance(0.2)) return {Outcome::Status::unknown, {}, "timed out"};
        for (auto& one : jobs_) {
            if (one.job.id != action.job) continue;
            if (action.type == ActionType::drain)
                one.stopping |= one.job.state == Job::State::running && chance(0.7);
            else if (action.type == ActionType::cancel || one.job.state == Job::State::pending)
                end(one, now, "CANCELLED", 0);
        }
        return {};
    }

    void tick(Time now)
    {
        for (auto& one : jobs_) {
            if (one.visible > now || one.job.state == Job::State::ended) continue;
            if (one.job.state == Job::State::pending && chance(0.5)) {
                one.job.state = Job::State::running;
                one.job.started = now;
            } else if (one.job.state == Job::State::running) {
                if (one.stopping && chance(0.3)) end(one, now, "COMPLETED", 0);
                else if (chance(0.005)) end(one, now, "FAILED", 1);
            }
        }
    }

    std::vector<Job> shown(Time now) const
    {
        std::vector<Job> list;
        for (auto const& one : jobs_)
            if (one.visible <= now) list.push_back(one.job);
        return list;
    }
    // Jobs that run or may still run, including those that are not listed yet.
    long live() const
    {
        return std::count_if(jobs_.begin(), jobs_.end(),
                             [](One const& one) { return one.job.state != Job::State::ended; });
    }

  private:
    struct One {
        Job job;
        Time visible;
        bool stopping;
    };
    static void end(One& one, Time now, char const* word, int exit_code)
    {
        one.job.state = Job::State::ended;
        one.job.ended = now;
        one.job.launcher_state = word;
        one.job.exit_code = exit_code;
        one.job.end = exit_code == 0 ? Job::End::clean : Job::End::failed;
    }
    bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }

    std::mt19937_64& random_;
    int latest_;
    std::vector<One> jobs_;
    int last_{0};
};

struct History {
    long most_live{0};
    int longest_double{0};   // consecutive seconds with more than one job
    int longest_without{0};  // consecutive seconds with a window but no job, without backoff
    int submissions{0};
};

// `memory` is the durable state: begin() before an action, finish() after it. A crash loses the
// rest.
History play(std::uint64_t seed, int latest)
{
    std::mt19937_64 random(seed);
    auto const chance = [&](double p) {
        return std::uniform_real_distribution<>(0, 1)(random) < p;
    };
    Cluster cluster(random, latest);
    JobLimits limits;
    limits.grace = Millis(15'000);
    SiteState memory;
    DesiredState desired{false, {}, "closed"};
    History history;
    int without = 0;
    int doubled = 0;
    int window = 0;
    for (int second = 0; second < 1500; ++second) {
        Time const now = from_unix_ms(1'768'151'100'000) + Seconds(second);
        if (chance(0.02))
            desired = desired.job ? DesiredState{false, {}, "closed"}
                                  : DesiredState{true, {"w" + std::to_string(++window)}, "open"};
        cluster.tick(now);
        history.most_live = std::max(history.most_live, cluster.live());
        doubled = cluster.live() > 1 ? doubled + 1 : 0;
        history.longest_double = std::max(history.longest_double, doubled);
        bool const excused = memory.retry_at && now < *memory.retry_at;
        without = desired.job && !excused && cluster.live() == 0 ? without + 1 : 0;
        history.longest_without = std::max(history.longest_without, without);
        if (chance(0.1)) continue;  // Slurm does not answer
        auto jobs = cluster.shown(now);
        // A job of the same name that is not ours.
        jobs.push_back({{"foreign"}, {}, {}, Job::State::running, "RUNNING", {}, {}, {}});
        memory = observe(memory, jobs, now, limits).state;
        bool crashed = false;
        for (auto const& action : decide(memory, desired, jobs, now, limits)) {
            if (action.type == ActionType::wait) continue;
            EXPECT_NE(action.job.value, "foreign");
            if ((crashed = chance(0.05))) break;  // before the intent
            memory = begin(memory, action, now);
            if ((crashed = chance(0.05))) break;  // before the action
            auto const outcome = action.type == ActionType::submit ? cluster.submit(action, now)
                                                                   : cluster.stop(action, now);
            history.submissions += action.type == ActionType::submit;
            if ((crashed = chance(0.05))) break;  // before the outcome
            memory = finish(memory, action, outcome, now, limits).state;
        }
        if (crashed) memory = recover(memory, now);
        if (auto const stored = read_site_state(to_json(memory), "memory")) memory = *stored;
        else ADD_FAILURE() << stored.error().message();
    }
    return history;
}

// Plays many histories and calls `judge` on each.
template <class Judge>
void check(int latest, Judge judge)
{
    char const* fixed = std::getenv("CURTAIL_SEED");
    std::uint64_t const first = fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : 1;
    std::uint64_t const last = fixed != nullptr ? first : 60;
    int submissions = 0;
    for (auto seed = first; seed <= last && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("replay with CURTAIL_SEED=" + std::to_string(seed));
        auto const history = play(seed, latest);
        submissions += history.submissions;
        judge(history);
        EXPECT_LE(history.longest_without, 60);
    }
    EXPECT_GT(submissions, 10 * static_cast<int>(last - first + 1));
}

TEST(PlanProperty, NeverTwoJobsAndNoWindowWithoutAJobForever)
{
    // The plan waits for submissions that appear within the settle time.
    check(4, [](History const& history) { EXPECT_EQ(history.most_live, 1); });
}

TEST(PlanProperty, DuplicateFromALateSubmissionIsStopped)
{
    check(60, [](History const& history) {
        EXPECT_LE(history.most_live, 4);
        EXPECT_LE(history.longest_double, 120);
    });
}

}  // namespace
}  // namespace curtail::plan
