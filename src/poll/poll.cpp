// SPDX-License-Identifier: Apache-2.0
#include "poll/poll.hpp"

#include <condition_variable>
#include <thread>

namespace curtail::poll {
namespace {

using Watches = std::vector<std::unique_ptr<SiteWatch>>;

Watches make_watches(World& world, Book& book)
{
    Watches watches;
    for (auto& parts : world.sites)
        watches.push_back(std::make_unique<SiteWatch>(std::move(parts), book, world.log));
    return watches;
}

/// Runs `one(i)` for each of n, all at the same time.
template <class One>
void side_by_side(std::size_t n, One one)
{
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < n; ++i) threads.emplace_back([&one, i] { one(i); });
}

/// Jobs of a site that the run's file does not name any more cannot be reached.
std::vector<Error> find_abandoned(World const& world, Book const& book)
{
    std::vector<Error> found;
    for (auto const& [site, record] : book.sites()) {
        if (world.run.find_site(site) != nullptr ||
            (record.jobs.jobs.empty() && !record.jobs.intent))
            continue;
        std::string jobs;
        for (auto const& job : record.jobs.jobs) jobs += " " + job.id.value;
        found.push_back({ExitCode::config,
                         "site " + site.value + " is no longer in run " + world.run.run.value,
                         jobs.empty() ? "a submission of its may still arrive"
                                      : "nobody looks after its job" + jobs,
                         "put it back into `sites` until its job has ended"});
        world.log.warning(found.back().message());
    }
    return found;
}

Answer answer_of(Watches const& watches, std::vector<Error> troubles)
{
    Answer answer{{}, std::move(troubles)};
    for (auto const& watch : watches) answer.sites.push_back(watch->report());
    return answer;
}

/// The signals' clock; a replay's does not go beyond its last sample.
Time signal_now(World const& world)
{
    auto const now = world.clock->now();
    return world.trace_end ? std::min(now, *world.trace_end) : now;
}

bool is_trace_over(World const& world)
{
    return world.trace_end && world.clock->now() >= *world.trace_end;
}

/// One site under watch: a thread for its window, one for its jobs.
class Patrol {
  public:
    Patrol(SiteWatch& site, World const& world, WatchOptions const& options)
        : site_(site), world_(world), options_(options)
    {
    }

    void start()
    {
        window_thread_ = std::jthread([this](std::stop_token const& stop) { follow_window(stop); });
        job_thread_ = std::jthread([this](std::stop_token const& stop) { look_after_jobs(stop); });
    }
    /// No more windows; jobs are drained.
    void halt(Halt why)
    {
        window_thread_.request_stop();
        window_thread_.join();
        // A replay's last sample counts, however late its end was noticed.
        complain(site_.evaluate(signal_now(world_)).written, window_trouble_);
        std::lock_guard const guard(mutex_);
        halt_ = why;
        looked_since_halt_ = false;
        wake_locked();
    }
    void wake()
    {
        std::lock_guard const guard(mutex_);
        wake_locked();
    }
    /// Halted, looked at since, and nothing left.
    [[nodiscard]] bool is_done() const
    {
        std::lock_guard const guard(mutex_);
        return looked_since_halt_ && site_.is_quiet();
    }
    void stop()
    {
        window_thread_.request_stop();
        job_thread_.request_stop();
    }

  private:
    void wake_locked()
    {
        look_now_ = true;
        changed_.notify_all();
    }
    void follow_window(std::stop_token const& stop)
    {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any pause;
        while (!stop.stop_requested()) {
            auto const evaluated = site_.evaluate(signal_now(world_));
            complain(evaluated.written, window_trouble_);
            if (evaluated.good) wake();
            pause.wait_for(lock, stop, options_.evaluate_every, [] { return false; });
        }
    }
    void look_after_jobs(std::stop_token const& stop)
    {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            look_now_ = false;
            auto const halt = halt_;
            lock.unlock();
            auto const looked = site_.tend(halt, false);
            lock.lock();
            complain(looked.written, job_trouble_);
            if (looked.good && halt == halt_) looked_since_halt_ = halt != Halt::no;
            // Who waits for the end of everything shall not wait longer than needed.
            auto const pause = halt_ == Halt::no ? options_.look_every
                                                 : std::min(options_.look_every, Millis(1'000));
            changed_.wait_for(lock, stop, pause, [this] { return look_now_; });
        }
    }
    /// Says a trouble when it begins or changes, not each time.
    void complain(Result<void> const& written, std::string& known) const
    {
        auto const trouble = written ? std::string() : written.error().message();
        if (trouble == known) return;
        known = trouble;
        if (!written) world_.log.error(site_.id().value + ": " + trouble);
    }

    SiteWatch& site_;
    World const& world_;
    WatchOptions const& options_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    Halt halt_{Halt::no};
    bool looked_since_halt_{false};
    bool look_now_{false};
    std::string window_trouble_;  ///< of the window's thread alone, and of halt() after it
    std::string job_trouble_;     ///< of the jobs' thread alone
    std::jthread window_thread_;
    std::jthread job_thread_;
};

using Patrols = std::vector<std::unique_ptr<Patrol>>;

bool all_done(Patrols const& patrols)
{
    return std::all_of(patrols.begin(), patrols.end(),
                       [](auto const& patrol) { return patrol->is_done(); });
}

/// Until the trace is over or a person wants it to stop.
void wait_for_the_end(World const& world, WatchOptions const& options, StopRequest const& stop,
                      Time begun)
{
    while (stop.level() == 0 && !is_trace_over(world)) {
        if (world.trace_end && options.progress)
            options.progress(seconds_between(begun, signal_now(world)),
                             seconds_between(begun, *world.trace_end));
        std::this_thread::sleep_for(Millis(50));
    }
}

/// How long a cancel, sent when all patience is over, may take.
constexpr Millis last_patience{15'000};

Result<void> drain_all(Watches const& watches, Patrols const& patrols, World const& world,
                       WatchOptions const& options, Halt why, StopRequest const& stop)
{
    Millis grace{0};
    for (auto const& site : world.run.sites) grace = std::max(grace, site.launcher.grace);
    for (auto const& patrol : patrols) patrol->halt(why);
    auto end = mono_now() + grace + options.patience;
    int const before = stop.level();
    bool hurried = false;
    auto const hurry = [&](char const* reason) {
        world.log.warning(reason);
        for (auto const& watch : watches) watch->hurry();
        hurried = true;
    };
    while (!all_done(patrols) && mono_now() < end) {
        if (!hurried && stop.level() > std::max(before, 1))
            hurry("asked again to stop: jobs are cancelled");
        std::this_thread::sleep_for(Millis(20));
        if (hurried || mono_now() < end || all_done(patrols)) continue;
        hurry("jobs did not end in time: they are cancelled");
        end += std::min(options.patience, last_patience);
    }
    if (all_done(patrols)) return {};
    std::string busy;
    for (std::size_t i = 0; i < watches.size(); ++i)
        if (!patrols[i]->is_done()) busy += (busy.empty() ? "" : ", ") + watches[i]->id().value;
    return fail(ExitCode::temporary, "cannot stop everything of run " + world.run.run.value,
                "jobs may be left at " + busy,
                "see `curtail-poll " + world.run.file.string() +
                    " --dry-run --explain`, and run the poller again");
}

}  // namespace

std::optional<Error> Answer::trouble() const
{
    std::vector<Error> all = troubles;
    std::string names;
    for (auto const& site : sites) {
        auto const here = site.troubles();
        if (!here.empty()) names += (names.empty() ? "" : ", ") + site.site.value;
        all.insert(all.end(), here.begin(), here.end());
    }
    if (all.empty()) return std::nullopt;
    auto const lasting = std::find_if(all.begin(), all.end(),
                                      [](Error const& e) { return e.code != ExitCode::temporary; });
    auto const& told = lasting == all.end() ? all.front() : *lasting;
    return names.empty() ? told : told.within("not all went well at " + names);
}

Result<Answer> poll_once(World world, bool dry)
{
    auto book =
        Book::open(world.run, dry ? Book::Mode::look : Book::Mode::write, SystemClock{}.now());
    if (!book) return tl::unexpected(book.error());
    auto const abandoned = find_abandoned(world, **book);
    auto const watches = make_watches(world, **book);
    auto const halt = is_trace_over(world) ? Halt::trace_over : Halt::no;
    std::vector<Result<void>> written(watches.size());
    side_by_side(watches.size(), [&](std::size_t i) {
        auto const evaluated = watches[i]->evaluate(signal_now(world));
        auto const tended = watches[i]->tend(halt, dry);
        written[i] = evaluated.written ? tended.written : evaluated.written;
    });
    if (auto saved = (*book)->save(); !saved) return tl::unexpected(saved.error());
    for (std::size_t i = 0; i < watches.size(); ++i)
        if (!written[i])
            return tl::unexpected(written[i].error().within(
                "cannot write down everything of site " + watches[i]->id().value));
    return answer_of(watches, abandoned);
}

Result<Answer> watch(World world, WatchOptions const& options, StopRequest const& stop)
{
    auto book = Book::open(world.run, Book::Mode::write, SystemClock{}.now());
    if (!book) return tl::unexpected(book.error());
    auto const abandoned = find_abandoned(world, **book);
    auto const watches = make_watches(world, **book);
    Patrols patrols;
    for (auto const& one : watches)
        patrols.push_back(std::make_unique<Patrol>(*one, world, options));
    for (auto const& patrol : patrols) patrol->start();
    wait_for_the_end(world, options, stop, signal_now(world));
    bool const stopped = stop.level() > 0;
    Result<void> drained;
    if (!stopped || options.drain_on_exit) {
        world.log.info(stopped ? "asked to stop: draining all jobs (once more to cancel them)"
                               : "the trace is over: draining all jobs");
        drained = drain_all(watches, patrols, world, options,
                            stopped ? Halt::person : Halt::trace_over, stop);
    }
    for (auto const& patrol : patrols) patrol->stop();
    patrols.clear();
    if (auto saved = (*book)->save(); !saved) return tl::unexpected(saved.error());
    if (!drained) return tl::unexpected(drained.error());
    if (stopped && world.trace_end)
        return fail(ExitCode::interrupted, "stopped before the trace was over", "", "");
    return answer_of(watches, abandoned);
}

}  // namespace curtail::poll
