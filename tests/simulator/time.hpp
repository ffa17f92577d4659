// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "base/core/time.hpp"

namespace curtail::protocol::simulator {

/// Simulated time, its event queue and random numbers; one seed determines all of it.
class SimTime {
  public:
    explicit SimTime(std::uint64_t seed) : random_(seed) {}
    [[nodiscard]] Millis now() const { return now_; }
    [[nodiscard]] std::int64_t events() const { return events_; }

    double uniform(double from, double to)
    {
        return from + (to - from) * static_cast<double>(random_() >> 11) * 0x1p-53;
    }
    bool chance(double p) { return p > 0 && uniform(0, 1) < p; }
    std::int64_t pick(std::int64_t from, std::int64_t to)
    {
        return from +
               static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
    }
    std::uint32_t nonce() { return static_cast<std::uint32_t>(random_()); }
    void later(Millis delay, std::function<void()> act)
    {
        queue_.push_back({now_ + delay, order_++, std::move(act)});
        std::push_heap(queue_.begin(), queue_.end());
    }
    /// Runs the next event. Returns false if no event is due by `end`.
    bool run_next(Millis end)
    {
        if (queue_.empty() || queue_.front().at > end) return false;
        std::pop_heap(queue_.begin(), queue_.end());
        auto const event = std::move(queue_.back());
        queue_.pop_back();
        now_ = event.at;
        ++events_;
        event.act();
        return true;
    }
    void skip_to(Millis at) { now_ = at; }

  private:
    struct Event {
        Millis at;
        std::int64_t order;
        std::function<void()> act;
        friend bool operator<(Event const& a, Event const& b)
        {
            return std::tie(a.at, a.order) > std::tie(b.at, b.order);
        }
    };
    std::mt19937_64 random_;
    std::vector<Event> queue_;  ///< a heap; the next event is the first
    std::int64_t order_{0};
    std::int64_t events_{0};
    Millis now_{0};
};

}  // namespace curtail::protocol::simulator
