// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/log_publisher.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/core/clock.hpp"
#include "base/core/clock_file.hpp"
#include "run/journal/heads.hpp"
#include "run/journal/publisher.hpp"
#include "storage/store/lazy_store.hpp"

namespace curtail::trainer {
namespace {

constexpr Millis interval{60'000};
constexpr Millis limit{60'000};  // of one pass
constexpr Millis longest_end{10'000};

}  // namespace

struct LogPublisher::Found {
    std::atomic<bool> store_is_fit{false};
    std::mutex mutex;
    protocol::JournalHeads heads;
};

LogPublisher::LogPublisher(config::Run const& run, config::Site const& site, Log const& log)
    : log_(log),
      found_(std::make_shared<Found>()),
      task_(
          [publisher = std::make_shared<journal::Publisher>(
               run, site.site, journal::Source::trainer, journal::Publisher::Hold::always,
               std::make_shared<store::LazyStore>(run.store_for(site)),
               // The replay's clock is for people who read the stream; the trainer does not depend
               // on it.
               journal::WriterOptions{.clock = read_clock(run.folder).value_or(std::nullopt)}, log),
           files = journal::head_files(run, site.site), found = found_](CallLimits const& call) {
              if (!found->store_is_fit) return;
              (void)publisher->publish(call);
              auto heads = journal::read_heads(files);
              std::lock_guard const guard(found->mutex);
              found->heads = std::move(heads);
          },
          interval, limit)
{
}

void LogPublisher::publish_soon()
{
    found_->store_is_fit = true;
    task_.run_soon();
}

protocol::JournalHeads LogPublisher::heads() const
{
    std::lock_guard const guard(found_->mutex);
    return found_->heads;
}

void LogPublisher::finish(StopSignal const& stop, StopTimes const& times)
{
    auto const end = monotonic_now() + longest_end;
    auto const until =
        std::min(end, stop_deadline(stop, times, StopPoint::process_ends).value_or(end));
    if (!task_.finish(until))
        log_.warning(
            "the end of the site's logs is not published in time; the next job or the poller "
            "publishes it");
}

}  // namespace curtail::trainer
