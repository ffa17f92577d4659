// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/state_store.hpp"

#include <stdexcept>

namespace curtail::poll {

StateStore::StateStore(std::filesystem::path folder, std::optional<PollerLock> lock,
                       StoredState state)
    : folder_(std::move(folder)),
      lock_(std::move(lock)),
      journal_(folder_ / "journal.jsonl"),
      state_(std::move(state))
{
    for (auto const& [site, record] : state_.sites)
        samples_.emplace(site, site_folder(site) / "signals.jsonl");
}

std::filesystem::path StateStore::site_folder(SiteId const& site) const
{
    return folder_ / "sites" / site.value;
}

Result<std::unique_ptr<StateStore>> StateStore::open(std::filesystem::path folder,
                                                     std::optional<PollerLock> lock,
                                                     StoredState state)
{
    std::unique_ptr<StateStore> store(
        new StateStore(std::move(folder), std::move(lock), std::move(state)));
    if (store->may_write())
        if (auto prepared = store->prepare_files(); !prepared)
            return tl::unexpected(prepared.error());
    return store;
}

Result<void> StateStore::prepare_files()
{
    for (auto& [site, samples] : samples_)
        if (auto loaded = samples.load(); !loaded) return loaded;
    // A full disk must not prevent stopping jobs. The next save tries again and reports the error.
    if (!save()) return {};
    auto rotated = journal_.rotate(state_.last_entry + 1);
    journal_.reserve_space();
    return rotated;
}

SiteRecord StateStore::site(SiteId const& site) const
{
    std::lock_guard const guard(mutex_);
    return state_.sites.at(site);
}

bool StateStore::has_stopped(plan::Submission const& job) const
{
    std::lock_guard const guard(mutex_);
    return journal_.has_stopped(job);
}

std::map<SiteId, SiteRecord> StateStore::sites() const
{
    std::lock_guard const guard(mutex_);
    return state_.sites;
}

Result<void> StateStore::set_window(SiteId const& site, WindowRecord const& window,
                                    std::vector<runlog::Event> events, Durability durability)
{
    std::lock_guard const guard(mutex_);
    auto& record = state_.sites.at(site);
    if (record.window == window && events.empty()) return {};
    record.window = window;
    unsaved_ = true;
    bool const can_wait = durability == Durability::lazy && events.empty();
    state_.add_events(site, std::move(events));
    return can_wait ? Result<void>{} : save_locked();
}

Result<void> StateStore::set_jobs(SiteId const& site, plan::SiteState jobs, HoldRecord holds,
                                  std::vector<runlog::Event> events)
{
    std::lock_guard const guard(mutex_);
    auto& record = state_.sites.at(site);
    if (record.jobs == jobs && record.holds == holds && events.empty()) return {};
    record.jobs = std::move(jobs);
    record.holds = std::move(holds);
    unsaved_ = true;
    state_.add_events(site, std::move(events));
    return save_locked();
}

Result<void> StateStore::set_configuration(SiteId const& site, std::string digest,
                                           std::vector<runlog::Event> events)
{
    std::lock_guard const guard(mutex_);
    state_.sites.at(site).configuration = std::move(digest);
    unsaved_ = true;
    state_.add_events(site, std::move(events));
    return save_locked();
}

Result<void> StateStore::set_accounted(SiteId const& site, Time now, bool at_end,
                                       std::vector<runlog::Event> events)
{
    std::lock_guard const guard(mutex_);
    auto& record = state_.sites.at(site);
    record.accounted = now;
    record.accounted_at_end = at_end;
    unsaved_ = true;
    state_.add_events(site, std::move(events));
    return save_locked();
}

Result<void> StateStore::append(JournalStep step)
{
    if (!may_write()) throw std::logic_error("a poller without a lock carries out no action");
    if (auto confirmed = confirm_lock(); !confirmed) return confirmed;
    std::lock_guard const guard(mutex_);
    step.entry.number = state_.last_entry + 1;
    auto written = journal_.append(step.entry);
    if (written) ++state_.last_entry;
    else if (step.only_if_written) return written;
    state_.sites.at(step.entry.site).jobs = std::move(step.jobs);
    state_.add_events(step.entry.site, std::move(step.events));
    unsaved_ = true;
    return written;
}

Result<bool> StateStore::record(SiteId const& site, RegionId const& region,
                                std::span<samples::Sample const> samples)
{
    if (!may_write() || !confirm_lock()) return false;
    std::lock_guard const guard(mutex_);
    bool const may_change = !samples.empty() && samples.back().origin && !samples.back().intensity;
    auto const written = samples.first(samples.size() - (may_change ? 1 : 0));
    bool const is_new = samples_.at(site).add(region, written);
    if (is_new)
        if (auto made = make_folder(site_folder(site)); !made) return tl::unexpected(made.error());
    return samples_.at(site).write().map([is_new] { return is_new; });
}

Result<void> StateStore::write_samples()
{
    for (auto& [site, samples] : samples_)
        if (auto written = samples.write(); !written) return written;
    return {};
}

bool StateStore::set_folder_warning(std::string const& warning)
{
    std::lock_guard const guard(mutex_);
    if (state_.folder_warning == warning) return false;
    state_.folder_warning = warning;
    unsaved_ = true;
    return true;
}

Result<void> StateStore::confirm_lock() const
{
    if (!lock_) return {};
    auto confirmed = lock_->confirm();
    if (!confirmed) lost_lock_ = true;
    return confirmed;
}

Result<void> StateStore::save()
{
    std::lock_guard const guard(mutex_);
    return save_locked();
}

// Writes the state with its outbox first, then the events themselves. After a crash in between the
// outbox still contains them.
Result<void> StateStore::save_locked()
{
    if (!may_write() || !unsaved_) return {};
    if (auto confirmed = confirm_lock(); !confirmed) return confirmed;
    // Samples first: the poller may not request those before `evaluated_until` again.
    if (auto written = write_samples(); !written) return written;
    auto const text = json::to_string(to_json(state_)) + "\n";
    if (auto written = write_file(folder_ / "state.json", text); !written) return written;
    unsaved_ = !state_.outbox.empty();
    return send_events();
}

Result<void> StateStore::send_events()
{
    auto& outbox = state_.outbox;
    while (!outbox.empty()) {
        auto const& event = outbox.front().event;
        auto const folder = site_folder(SiteId{event.site});
        if (auto made = make_folder(folder); !made) return made;
        runlog::EventLog const log(folder / "events.jsonl");
        if (auto appended = log.append(event); !appended) return appended;
        outbox.pop_front();
    }
    return {};
}

}  // namespace curtail::poll
