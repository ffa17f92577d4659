// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "poll/site.hpp"

/// One evaluation of all sites, once or again and again. Sites do not wait for each other: each has
/// threads of its own.
namespace curtail::poll {

/// Everything a poll needs of the world.
struct World {
    config::Run const& run;
    std::vector<SiteWatch::Parts> sites;
    std::shared_ptr<Clock const> clock;  ///< the signals'
    std::optional<Time> trace_end;       ///< of a replay: its last sample
    Log log;
};

struct Answer {
    std::vector<SiteReport> sites;
    std::vector<Error> troubles;  ///< of the run as a whole

    /// All that is wrong as one failure, for an exit code: that of the first trouble that does not
    /// pass by itself, else of the first.
    [[nodiscard]] std::optional<Error> trouble() const;
};

/// Looks once at every site and acts. `temporary` if another poller is at work. What could not be
/// written is an error, but has kept no job from being stopped. In a dry run nothing changes
/// anywhere.
[[nodiscard]] Result<Answer> poll_once(World world, bool dry);

/// How a person speaks to a running watch, from another thread.
class StopRequest {
  public:
    /// Once: stop. Again: do not wait for jobs to finish their work.
    void raise() { ++level_; }
    [[nodiscard]] int level() const { return level_; }

  private:
    std::atomic<int> level_{0};
};

struct WatchOptions {
    bool drain_on_exit{false};   ///< a stop request drains all jobs and waits until they are gone;
                                 ///< otherwise they are left alone
    Millis evaluate_every{100};  ///< windows, real time
    Millis look_every{1'000};    ///< jobs, real time; at once after a change of phase
    Millis patience{60'000};  ///< after the end: how long a site may stay silent or busy beyond its
                              ///< grace before it is given up; before that its jobs are cancelled,
                              ///< and once more as long, at most 15 s, is waited
    std::function<void(double, double)>
        progress;  ///< seconds of a replay that are done, of how many
};

/// Polls until a stop is asked for or, in a replay, the trace is over; then everything is drained
/// and gone. `interrupted` if a replay was stopped before its end; `temporary` if another poller is
/// at work, or if jobs of a site could not be ended.
[[nodiscard]] Result<Answer> watch(World world, WatchOptions const& options,
                                   StopRequest const& stop);

}  // namespace curtail::poll
