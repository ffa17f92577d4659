// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "plan/action.hpp"

namespace curtail::poll {

/// One line of the journal: an action that the poller is about to carry out, or its outcome.
struct JournalEntry {
    std::int64_t number{};  ///< 1, 2, 3, ... throughout a run
    Time time;              ///< real
    SiteId site;
    plan::Action action;
    std::optional<plan::Outcome> outcome;  ///< empty: the intent
};

/// `poller/journal.jsonl`: intents are on disk before the action, outcomes after it. Readers skip a
/// line that a crash cut short.
class Journal {
  public:
    explicit Journal(std::filesystem::path path) : path_(std::move(path)) {}
    /// Entries after number `after`, in order.
    [[nodiscard]] Result<std::vector<JournalEntry>> read(std::int64_t after) const;
    [[nodiscard]] Result<void> append(JournalEntry const& entry) const;
    /// Renames a journal longer than `longest` bytes to `journal.1.jsonl`, replacing the previous
    /// one. Call it only if the state file includes all entries.
    [[nodiscard]] Result<void> rotate(std::int64_t longest = 1 << 20) const;

  private:
    std::filesystem::path path_;
};

}  // namespace curtail::poll
