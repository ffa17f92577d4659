// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/records/record.hpp"
#include "storage/payload/payload.hpp"

namespace curtail::trainer {

/// The payloads that this process has stored and still holds, so that it need not read them back.
/// Thread-safe.
class MadePayloads {
  public:
    /// Adds a payload that the store has. Does not hold the values: forgets them when nobody else
    /// does.
    void add(protocol::PartRef const& part, payload::Values const& values)
    {
        std::lock_guard const lock(mutex_);
        std::erase_if(
            list_, [&](auto const& made) { return made.second.expired() || made.first == part; });
        list_.emplace_back(part, values);
    }
    /// Returns the values; null if this process has not stored `part` or does not hold it any more.
    [[nodiscard]] payload::Values find(protocol::PartRef const& part) const
    {
        std::lock_guard const lock(mutex_);
        auto const found = std::find_if(list_.begin(), list_.end(),
                                        [&](auto const& made) { return made.first == part; });
        return found == list_.end() ? nullptr : found->second.lock();
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<protocol::PartRef, std::weak_ptr<std::vector<float> const>>> list_;
};

}  // namespace curtail::trainer
