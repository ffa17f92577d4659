// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <unordered_set>
#include <vector>

#include "protocol/chain/run_objects.hpp"

namespace curtail::chain {

/// Reads records that a caller will need in a known order, several at a time and ahead of the
/// caller. Each record is read once, from the store.
class ReadAhead {
  public:
    /// `names` is the order; no name occurs twice. `objects` must outlive this object.
    ReadAhead(RunObjects const& objects, std::vector<std::string> names)
        : objects_(objects), names_(std::move(names)), unread_(names_.begin(), names_.end())
    {
    }
    /// Returns what RunObjects::record() returns. Names may be left out, but none asked for twice;
    /// a name that is not in the order is read at once.
    [[nodiscard]] Result<std::optional<std::string>> record(std::string const& name);

  private:
    void read_next();

    RunObjects const& objects_;
    std::vector<std::string> names_;
    std::size_t next_{0};                     ///< of names_: the first that has not been read
    std::unordered_set<std::string> unread_;  ///< the names from names_[next_] on
    std::map<std::string, Result<std::optional<std::string>>> read_;
};

}  // namespace curtail::chain
