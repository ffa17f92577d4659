// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "config/run.hpp"
#include "core/files.hpp"
#include "poll/journal.hpp"
#include "poll/recovery.hpp"
#include "poll/stored_state.hpp"
#include "runlog/event.hpp"
#include "signals/sample_log.hpp"

namespace curtail::poll {

/// One journal entry with the site's jobs and events that follow from it.
struct JournalStep {
    SiteId site;
    Time time;  ///< real
    plan::Action action;
    std::optional<plan::Outcome> outcome;  ///< empty: the intent
    plan::SiteState jobs;
    std::vector<runlog::Event> events;
    bool only_if_written{false};  ///< changes nothing if the entry cannot be written
};

/// The poller's state in `<run folder>/poller/` (mode 0700): lock, state.json, journal.jsonl,
/// events.jsonl, signals.jsonl. Stores what it is given and decides nothing. Thread-safe.
///
/// A poller that is killed at any time loses nothing: its successor applies the journal entries
/// that state.json does not include (recover()), and each event reaches events.jsonl once.
class StateStore {
  public:
    enum class Access {
        write,
        read  ///< changes nothing on disk and takes no lock
    };
    enum class Durability {
        now,
        lazy  ///< may wait for the next change: for changes that a poller can compute again
    };
    /// Reads the folder and recovers from it. `temporary` if another poller holds the lock, which
    /// the error names; `permission` if other users may read the folder.
    [[nodiscard]] static Result<std::unique_ptr<StateStore>> open(config::Run const& run,
                                                                  Access access, Time now);

    [[nodiscard]] SiteRecord site(SiteId const& site) const;
    /// All known sites, including those that the run no longer names.
    [[nodiscard]] std::map<SiteId, SiteRecord> sites() const;

    /// Stores a site's window and adds its events, atomically. Events never wait. After an error
    /// the change stays in memory and is written with the next one.
    [[nodiscard]] Result<void> set_window(SiteId const& site, WindowRecord const& window,
                                          std::vector<runlog::Event> events, Durability durability);
    /// The same for a site's jobs; nothing waits.
    [[nodiscard]] Result<void> set_jobs(SiteId const& site, plan::SiteState jobs,
                                        std::vector<runlog::Event> events);
    /// Appends an entry to the journal. It is on disk when this succeeds; its jobs and events wait
    /// in memory for the next change or save().
    [[nodiscard]] Result<void> append(JournalStep step);
    /// Appends the samples, in order of time, that are newer than the region's newest. They are on
    /// disk when this succeeds. Returns whether there were any.
    [[nodiscard]] Result<bool> record(RegionId const& region,
                                      std::span<signals::Sample const> samples);
    /// Writes all waiting changes.
    [[nodiscard]] Result<void> save();

  private:
    StateStore(std::filesystem::path folder, Access access, std::optional<FileLock> lock,
               Recovered recovered);
    [[nodiscard]] Result<void> prepare_files();
    [[nodiscard]] Result<void> save_locked();
    [[nodiscard]] Result<void> send_events();

    std::filesystem::path folder_;
    Access access_;
    std::optional<FileLock> lock_;
    Journal journal_;
    runlog::EventLog event_log_;
    signals::SampleLog samples_;
    mutable std::mutex mutex_;  ///< guards what follows, and the files
    StoredState state_;
    WrittenUntil written_until_;
    bool unsaved_{true};
};

}  // namespace curtail::poll
