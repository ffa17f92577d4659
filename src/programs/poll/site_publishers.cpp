// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/site_publishers.hpp"

#include <algorithm>

#include "base/core/clock_file.hpp"
#include "base/core/files.hpp"
#include "protocol/records/names.hpp"
#include "run/journal/closing.hpp"
#include "run/journal/heads.hpp"
#include "run/journal/publisher.hpp"
#include "run/permission/hold.hpp"
#include "run/runlog/poller_state.hpp"
#include "storage/store/lazy_store.hpp"

namespace curtail::programs {
namespace {

using journal::Publisher;

constexpr Millis interval{60'000};
constexpr Millis limit{60'000};  // of one pass

// Ends the journal of a site that has no more work, or that rests, by a closing.
class Closer {
  public:
    Closer(config::Run const& run, config::Site const& site,
           std::shared_ptr<store::ObjectStore> store, Log log)
        : run_(run.run),
          site_(site.site),
          site_folder_(run.site_folder(site.site)),
          complete_file_(run.folder / "complete.json"),
          state_(run.poller_folder() / "state.json"),
          note_(run.poller_folder() / "sites" / site.site.value / "closing.json"),
          heads_(journal::head_files(run, site.site)),
          store_(std::move(store)),
          log_(std::move(log))
    {
    }

    void close_if_ended(CallLimits const& call) const
    {
        auto const heads = journal::read_heads(heads_);
        if (heads.empty() || heads == noted() || !has_ended()) return;
        if (auto closed =
                journal::close_journal(*store_, run_, site_, heads, SystemClock{}.now(), call);
            !closed)
            return log_.debug(closed.error().message());
        auto const note = protocol::encode(protocol::Closing{run_, site_, 1, {}, heads, Time{}});
        (void)write_file(note_, note.bytes);
    }

  private:
    // The heads of the last closing. Those of the poller's own streams are taken as they are now:
    // the poller logs on, and no closing is made for that.
    [[nodiscard]] protocol::JournalHeads noted() const
    {
        auto const text = read_file_if_exists(note_, protocol::record_bytes_limit);
        if (!text || !*text) return {};
        auto const closing = protocol::decode_closing(**text, protocol::closing_name(site_, 1));
        if (!closing) return {};
        auto heads = journal::read_heads(heads_);
        for (auto& [stream, head] : heads) {
            bool const is_own =
                stream == name(journal::Stream::poller) || stream == name(journal::Stream::signals);
            auto const before = closing->heads.find(stream);
            if (!is_own)
                head = before == closing->heads.end() ? protocol::JournalHead{} : before->second;
        }
        return heads;
    }

    // Whether the site has no job, and is held or part of a complete run.
    [[nodiscard]] bool has_ended() const
    {
        auto const sites = runlog::read_poller_sites(state_);
        if (!sites || !*sites) return false;
        auto const site = std::ranges::find(**sites, site_, &runlog::PollerSite::site);
        if (site == (*sites)->end() || !site->jobs.empty() || site->submitting) return false;
        auto const hold = permission::read_hold(site_folder_, run_, site_);
        bool const is_paused = hold && *hold && (*hold)->held;
        std::error_code error;
        bool const is_complete = std::filesystem::exists(complete_file_, error);
        return is_complete || is_paused || !site->hold.empty() || !site->operators.empty();
    }

    RunId run_;
    SiteId site_;
    std::filesystem::path site_folder_;
    std::filesystem::path complete_file_;
    std::filesystem::path state_;
    std::filesystem::path note_;
    journal::HeadFiles heads_;
    std::shared_ptr<store::ObjectStore> store_;
    Log log_;
};

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
            evaluator = left_by(journal::Source::evaluator),
            closer = Closer(run, site, store, log)](CallLimits const& call) {
        (void)poller->publish(call);
        (void)trainer->publish(call);
        (void)evaluator->publish(call);
        closer.close_if_ended(call);
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
