// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "core/time.hpp"

namespace curtail::rounds::simulator {

/// What the store answers at a time: outages, a full store, unreadable headers, and its clock.
class Availability {
  public:
    void fill_until(Millis end) { full_until_ = end; }
    void take_away_until(Millis end) { away_until_ = end; }
    void hide_headers_until(Millis end) { headers_hidden_until_ = end; }
    void set_clock(Millis offset) { clock_offset_ = offset; }

    [[nodiscard]] bool is_away(Millis now) const { return now < away_until_; }
    [[nodiscard]] bool refuses_writes(Millis now) const
    {
        return now < std::max(full_until_, away_until_);
    }
    /// Returns whether gets of headers fail.
    [[nodiscard]] bool hides_headers(Millis now) const { return now < headers_hidden_until_; }
    /// While headers are hidden: whether the store refuses these gets, or does not answer them.
    [[nodiscard]] bool refuses_headers() const { return headers_hidden_until_.count() % 2 == 1; }
    /// The store's clock.
    [[nodiscard]] Time clock(Millis now) const
    {
        return Time{now + clock_offset_ + Millis{1'700'000'000'000}};
    }

  private:
    Millis full_until_{0};
    Millis away_until_{0};
    Millis headers_hidden_until_{0};
    Millis clock_offset_{0};  ///< error of the clock
};

}  // namespace curtail::rounds::simulator
