// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "config/run.hpp"
#include "core/files.hpp"
#include "poll/journal.hpp"
#include "runlog/poller_events.hpp"
#include "signals/sample_log.hpp"
#include "windows/detector.hpp"

namespace curtail::poll {

/// What is remembered of one site from poll to poll.
struct SiteRecord {
    windows::WindowState window;
    std::optional<Time>
        evaluated_until;  ///< on the signals' clock; nothing before the first evaluation
    std::optional<WindowId> open_window;  ///< set while jobs may run
    plan::SiteState jobs;
    friend bool operator==(SiteRecord const&, SiteRecord const&) = default;
};

/// The poller's memory on disk, in `<run folder>/poller/` (mode 0700): lock, state.json,
/// journal.jsonl, events.jsonl, signals.jsonl.
///
/// A poller killed at any moment loses nothing: intents and outcomes that state.json does not hold
/// yet are replayed from the journal, and each event reaches events.jsonl once (they are numbered,
/// and state.json holds those that may not have arrived). Where state.json itself is lost, an open
/// intent and the jobs that have not ended are known from journal and events, and what these tell
/// is not told again. Threads may share a book.
class Book {
  public:
    enum class Mode {
        write,
        look  ///< nothing on disk changes and no lock is taken
    };
    /// `temporary` if another poller holds the lock, which the error names; `permission` if others
    /// may read the folder.
    [[nodiscard]] static Result<std::unique_ptr<Book>> open(config::Run const& run, Mode mode,
                                                            Time now);

    [[nodiscard]] SiteRecord site(SiteId const& site) const;
    /// All that are remembered, also those that are no longer in the run.
    [[nodiscard]] std::map<SiteId, SiteRecord> sites() const;
    /// What `act` does to a site's record and the events that it adds become durable together. With
    /// `lazily` a change without an event may wait for the next one: used where the same change can
    /// be computed again. After an error it holds in memory, and is written with the next change.
    using Act = std::function<void(SiteRecord&, std::vector<runlog::Event>&)>;
    [[nodiscard]] Result<void> change(SiteId const& site, Act const& act, bool lazily = false);
    /// Before an act: the intent is on disk when this returns without error. After an error a
    /// submission must not happen and is not remembered; another act may, and is.
    [[nodiscard]] Result<void> intend(SiteId const& site, plan::Action const& action, Time now);
    /// After an act.
    [[nodiscard]] Result<void> conclude(SiteId const& site, plan::Action const& action,
                                        plan::Outcome const& outcome, Time now,
                                        plan::Rules const& rules);
    /// Before anything is decided by these samples, in order of time: they are on disk when this
    /// returns without error. Answers whether any of them is new.
    [[nodiscard]] Result<bool> record(RegionId const& region,
                                      std::span<signals::Sample const> samples);
    /// Writes what waits.
    [[nodiscard]] Result<void> save();

  private:
    struct Numbered {
        std::int64_t number;
        runlog::Event event;
    };
    Book(std::filesystem::path folder, Mode mode);
    [[nodiscard]] Result<bool> load();
    [[nodiscard]] Result<void> replay_journal(Time now);
    [[nodiscard]] Result<void> restore_lost_state(Time now);
    [[nodiscard]] bool is_told(SiteId const& site, runlog::Event const& event) const;
    [[nodiscard]] Result<void> resend_events();
    [[nodiscard]] Result<void> save_locked();
    void add(SiteId const& site, std::vector<runlog::Event> events);
    [[nodiscard]] json::Value to_json() const;

    std::filesystem::path folder_;
    Mode mode_;
    std::optional<FileLock> lock_;
    Journal journal_;
    runlog::EventLog event_log_;
    signals::SampleLog signals_;
    mutable std::mutex mutex_;
    std::map<SiteId, SiteRecord> sites_;
    std::int64_t last_entry_{0};   ///< newest journal entry in sites_
    std::int64_t last_event_{0};   ///< newest number given to an event
    std::deque<Numbered> outbox_;  ///< events that may not be in events.jsonl yet
    /// After the loss of state.json, by site and type: the signals' time up to which events are in
    /// events.jsonl.
    std::map<std::pair<SiteId, std::string>, Time> told_until_;
    bool unsaved_{false};
};

/// An event of the poller's vocabulary (docs/poller.md) for what happened to a job.
[[nodiscard]] runlog::Event job_event(SiteId const& site, plan::Happening const& happening,
                                      Time real_now);

}  // namespace curtail::poll
