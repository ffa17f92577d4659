// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/site_publishers.hpp"

#include "base/core/clock_file.hpp"
#include "run/journal/publisher.hpp"
#include "storage/store/lazy_store.hpp"

namespace curtail::programs {
namespace {

using journal::Publisher;

constexpr Millis interval{60'000};
constexpr Millis limit{60'000};  // of one pass

PeriodicTask::Work publishing(config::Run const& run, config::Site const& site,
                              journal::WriterOptions const& options, Log const& log)
{
    auto const store = std::make_shared<store::LazyStore>(run.store_for(site));
    auto const poller = std::make_shared<Publisher>(run, site.site, journal::Source::poller,
                                                    Publisher::Hold::always, store, options, log);
    // A process that runs publishes its own logs.
    auto const left_by = [&](journal::Source source) {
        return std::make_shared<Publisher>(run, site.site, source, Publisher::Hold::briefly, store,
                                           options, log);
    };
    return [poller, trainer = left_by(journal::Source::trainer),
            evaluator = left_by(journal::Source::evaluator)](CallLimits const& call) {
        (void)poller->publish(call);
        (void)trainer->publish(call);
        (void)evaluator->publish(call);
    };
}

}  // namespace

SitePublishers::SitePublishers(config::Run const& run,
                               std::vector<config::Site const*> const& sites, Log const& log)
{
    journal::WriterOptions options;
    options.clock = read_clock(run.folder).value_or(std::nullopt);
    for (auto const* site : sites)
        publishers_.push_back(
            std::make_unique<PeriodicTask>(publishing(run, *site, options, log), interval, limit));
}

void SitePublishers::finish(Millis budget)
{
    auto const until = monotonic_now() + budget;
    for (auto const& publisher : publishers_) publisher->begin_finish(until);
    for (auto const& publisher : publishers_) (void)publisher->finish(until);
}

}  // namespace curtail::programs
