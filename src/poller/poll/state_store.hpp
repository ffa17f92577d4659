// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "poller/poll/journal.hpp"
#include "poller/poll/poller_lock.hpp"
#include "poller/poll/stored_state.hpp"
#include "run/runlog/event.hpp"
#include "run/samples/sample_log.hpp"

namespace curtail::poll {

/// A journal entry, with the changes that follow from it.
struct JournalStep {
    JournalEntry entry;                 ///< StateStore::append() sets its number
    plan::SiteState jobs;               ///< the site's jobs after the entry
    std::vector<runlog::Event> events;  ///< events to log because of the entry
    /// What to do if the entry cannot be written. True: discard `jobs` and `events`. False: store
    /// them nevertheless.
    bool only_if_written{false};
};

/// The poller's state on disk, in the folder `poller/` of the run's folder. It consists
/// of a lock, state.json and journal.jsonl, and of events.jsonl and signals.jsonl in a folder for
/// each site. This class stores what it receives and makes no decisions. Thread-safe.
///
/// A change may wait in memory. Each write of state.json includes all waiting changes.
///
/// A poller may be killed at any time; its waiting changes are then lost. The next poller applies
/// the journal entries that state.json does not include (open_store.hpp). It computes all other
/// lost changes again. Each event is written to events.jsonl exactly once.
class StateStore {
  public:
    /// When a change is written to disk.
    enum class Durability {
        now,  ///< before the function returns
        lazy  ///< with the next write of state.json; for changes that the next poller can compute
              ///< again
    };
    /// Opens the StateStore of `folder` with the initial state `state`. `lock` is the folder's
    /// lock. With a lock, writes `state` to the folder. If this write fails, open() still succeeds,
    /// and the next save() tries again. Without a lock, the StateStore changes nothing on disk.
    [[nodiscard]] static Result<std::unique_ptr<StateStore>> open(std::filesystem::path folder,
                                                                  std::optional<PollerLock> lock,
                                                                  StoredState state);

    /// Returns what is stored about a site.
    [[nodiscard]] SiteRecord site(SiteId const& site) const;
    /// Returns all known sites, including those that the run no longer names.
    [[nodiscard]] std::map<SiteId, SiteRecord> sites() const;

    /// Returns whether the journal says that a poller has begun to stop a job.
    [[nodiscard]] bool has_stopped(plan::Submission const& job) const;

    /// Stores a site's window together with the window's events. If there are events, writes
    /// state.json and the events before it returns, whatever `durability` says. After an error the
    /// change waits in memory.
    [[nodiscard]] Result<void> set_window(SiteId const& site, WindowRecord const& window,
                                          std::vector<runlog::Event> events, Durability durability);
    /// Stores a site's jobs and holds together with their events, and writes them before it
    /// returns. After an error the change waits in memory.
    [[nodiscard]] Result<void> set_jobs(SiteId const& site, plan::SiteState jobs, HoldRecord holds,
                                        std::vector<runlog::Event> events);
    /// Stores the digest of a site's settings, with the event that has them.
    [[nodiscard]] Result<void> set_configuration(SiteId const& site, std::string digest,
                                                 std::vector<runlog::Event> events);
    /// Stores when the poller asked for the accounts of a site's jobs, with the answer, and writes
    /// it before it returns. `at_end`: the run is complete.
    [[nodiscard]] Result<void> set_accounted(SiteId const& site, Time now, bool at_end,
                                             std::vector<runlog::Event> events);
    /// Appends the entry of `step` to the journal, and returns when the entry is on disk. The jobs
    /// and events of `step` wait in memory. Throws std::logic_error if there is no lock.
    [[nodiscard]] Result<void> append(JournalStep step);
    /// Appends to the site's signals.jsonl those of `samples` that are newer than the newest stored
    /// sample of `region` with the same kind. The newest one waits if it is live and has no value
    /// yet, because the provider may still send one. Returns when they are on disk; the result is
    /// true if there was at least one. `samples` must be in order of time. Without a lock, appends
    /// nothing and returns false.
    [[nodiscard]] Result<bool> record(SiteId const& site, RegionId const& region,
                                      std::span<samples::Sample const> samples);
    /// Stores the warning about the run's folders, with the next write of state.json. Returns
    /// whether it differs from the stored one.
    [[nodiscard]] bool set_folder_warning(std::string const& warning);
    /// Confirms that this poller still has its lock (PollerLock::confirm()). A poller confirms it
    /// before each action. Succeeds without a lock.
    [[nodiscard]] Result<void> confirm_lock() const;
    /// Returns whether confirm_lock() has failed. The poller must then end.
    [[nodiscard]] bool has_lost_lock() const { return lost_lock_; }
    /// Writes all waiting changes. Fails with `temporary` if the lock is lost.
    [[nodiscard]] Result<void> save();

  private:
    StateStore(std::filesystem::path folder, std::optional<PollerLock> lock, StoredState state);
    [[nodiscard]] bool may_write() const { return lock_.has_value(); }
    [[nodiscard]] Result<void> prepare_files();
    [[nodiscard]] Result<void> save_locked();
    [[nodiscard]] Result<void> send_events();
    [[nodiscard]] Result<void> write_samples();
    [[nodiscard]] std::filesystem::path site_folder(SiteId const& site) const;

    std::filesystem::path folder_;
    std::optional<PollerLock> lock_;
    Journal journal_;
    mutable std::atomic<bool> lost_lock_{false};
    mutable std::mutex mutex_;  ///< guards the files and all members below
    std::map<SiteId, samples::SampleLog> samples_;
    StoredState state_;
    bool unsaved_{true};
};

}  // namespace curtail::poll
