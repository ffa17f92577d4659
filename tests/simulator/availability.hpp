// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <map>
#include <optional>

#include "base/core/time.hpp"

namespace curtail::protocol::simulator {

/// A time in which no request of one site succeeds.
struct CutOff {
    Millis until;
    bool refused{};  ///< the store refuses the requests; otherwise they do not reach it
    /// Start of the first refusal since the site was last known to reach the store.
    std::optional<Millis> refused_since{};
};

/// The most by which the store's clock is wrong, in either direction.
inline constexpr Millis most_clock_offset{3'600'000};

/// What the store answers at a time: outages, partitions, a full store, unreadable headers, and its
/// clock.
class Availability {
  public:
    void fill_until(Millis end) { full_until_ = end; }
    void take_away_until(Millis end) { away_until_ = end; }
    /// Lets no request of the processes of one site succeed. If this was so shortly before, the
    /// site may have made no request in between.
    void cut_off(std::size_t site, Millis now, CutOff how)
    {
        constexpr Millis shortly{60'000};
        auto const* last = last_cut_off(site);
        if (last != nullptr && now < last->until + shortly) how.refused_since = last->refused_since;
        if (how.refused && !how.refused_since) how.refused_since = now;
        cut_off_[site] = how;
    }
    /// Somebody removes a foreign commit at `end`.
    void confuse_until(Millis end) { confused_until_ = std::max(confused_until_, end); }
    /// Returns whether processes may be reading a foreign commit again, or pausing before that.
    [[nodiscard]] bool confuses(Millis now) const
    {
        constexpr Seconds pause{15};
        return now < confused_until_ + pause;
    }
    void hide_headers_until(Millis end) { headers_hidden_until_ = end; }
    void set_clock(Millis offset) { clock_offset_ = offset; }

    /// Returns whether no request of a site gets an answer.
    [[nodiscard]] bool is_away(std::size_t site, Millis now) const
    {
        auto const* cut_off = last_cut_off(site);
        return now < away_until_ || (cut_off != nullptr && now < cut_off->until);
    }
    /// Returns whether the store refuses each request of a site. Then is_away() is true too.
    [[nodiscard]] bool is_refused(std::size_t site, Millis now) const
    {
        auto const* cut_off = last_cut_off(site);
        return cut_off != nullptr && cut_off->refused && now < cut_off->until;
    }
    /// How long ago the store began to refuse the requests of a site. Empty: it has not, the last
    /// time that the site was cut off.
    [[nodiscard]] std::optional<Millis> refused_for(std::size_t site, Millis now) const
    {
        auto const* cut_off = last_cut_off(site);
        if (cut_off == nullptr || !cut_off->refused_since) return std::nullopt;
        return now - *cut_off->refused_since;
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
    [[nodiscard]] CutOff const* last_cut_off(std::size_t site) const
    {
        auto const it = cut_off_.find(site);
        return it == cut_off_.end() ? nullptr : &it->second;
    }

    Millis full_until_{0};
    Millis confused_until_{-1'000'000};
    Millis away_until_{0};
    std::map<std::size_t, CutOff> cut_off_;
    Millis headers_hidden_until_{0};
    Millis clock_offset_{0};  ///< error of the clock
};

}  // namespace curtail::protocol::simulator
