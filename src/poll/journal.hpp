// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/ids.hpp"
#include "plan/plan.hpp"

namespace curtail::poll {

/// One line of the journal: what a poller is about to do, or how it went.
struct Entry {
    std::int64_t number{};  ///< 1, 2, 3, ... over the life of a run
    Time time;              ///< real
    SiteId site;
    plan::Action action;
    std::optional<plan::Outcome> outcome;  ///< nothing: this is the intent
};

/// `poller/journal.jsonl`: intents are on disk before the act, outcomes after it. A line cut short
/// by a crash is skipped.
class Journal {
  public:
    explicit Journal(std::filesystem::path path) : path_(std::move(path)) {}
    /// Entries after number `after`, in order.
    [[nodiscard]] Result<std::vector<Entry>> read(std::int64_t after) const;
    [[nodiscard]] Result<void> append(Entry const& entry) const;
    /// Puts a journal that has grown long aside (`journal.1.jsonl`, replacing the one before). Only
    /// when all of it is in the state file.
    [[nodiscard]] Result<void> rotate(std::int64_t longest = 1 << 20) const;

  private:
    std::filesystem::path path_;
};

}  // namespace curtail::poll
