// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <map>

#include "core/time.hpp"

namespace curtail::rounds::simulator {

/// What the store answers at a time: outages, partitions, a full store, unreadable headers, and its
/// clock.
class Availability {
  public:
    void fill_until(Millis end) { full_until_ = end; }
    void take_away_until(Millis end) { away_until_ = end; }
    /// Lets no request of the processes of one site reach the store.
    void cut_off_until(std::size_t site, Millis end) { cut_off_until_[site] = end; }
    void hide_headers_until(Millis end) { headers_hidden_until_ = end; }
    void set_clock(Millis offset) { clock_offset_ = offset; }
    [[nodiscard]] Millis clock_offset() const { return clock_offset_; }

    /// Returns whether no request of a site gets an answer.
    [[nodiscard]] bool is_away(std::size_t site, Millis now) const
    {
        auto const it = cut_off_until_.find(site);
        return now < away_until_ || (it != cut_off_until_.end() && now < it->second);
    }
    [[nodiscard]] bool refuses_writes(std::size_t site, Millis now) const
    {
        return now < full_until_ || is_away(site, now);
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
    std::map<std::size_t, Millis> cut_off_until_;
    Millis headers_hidden_until_{0};
    Millis clock_offset_{0};  ///< error of the clock
};

}  // namespace curtail::rounds::simulator
