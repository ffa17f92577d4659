// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/core/ids.hpp"
#include "poller/plan/action.hpp"
#include "poller/plan/job.hpp"

namespace curtail::poll {

/// One line of the journal: an action that the poller is about to carry out (the intent), or the
/// action's outcome.
struct JournalEntry {
    std::int64_t number{};  ///< 1, 2, 3, ... throughout the run
    Time time;              ///< when the entry was made, in real time
    SiteId site;
    plan::Action action;
    std::optional<plan::Outcome> outcome;  ///< empty if the entry is the intent
};

/// The file `poller/journal.jsonl`. The poller writes an intent before it carries out the action,
/// and the outcome afterwards. Reading skips a line that a crash cut short.
class Journal {
  public:
    explicit Journal(std::filesystem::path path) : path_(std::move(path)) {}
    /// Reads the entries with a number above `after`, in order.
    [[nodiscard]] Result<std::vector<JournalEntry>> read(std::int64_t after) const;
    /// Appends an entry, and returns when it is on disk.
    [[nodiscard]] Result<void> append(JournalEntry const& entry) const;
    /// If the journal is longer than `longest` bytes, renames it to `journal.<number>.jsonl`, with
    /// the number of the next entry. All such files are kept. Call this only when state.json
    /// includes all entries.
    [[nodiscard]] Result<void> rotate(std::int64_t next_number,
                                      std::int64_t longest = 1 << 20) const;
    /// Sets space aside for the next entries, so that a stop is recorded on a full disk, too. Not
    /// all file systems can do that.
    void reserve_space() const;
    /// Returns the newest file that rotate() has renamed; empty if there is none.
    [[nodiscard]] std::filesystem::path newest_rotated() const;
    /// Returns whether a poller, this one or another, has begun to stop this submission of a job.
    /// Entries after that of the submission count whatever the clock says.
    [[nodiscard]] bool has_stopped(plan::Submission const& job) const;

  private:
    std::filesystem::path path_;
};

}  // namespace curtail::poll
