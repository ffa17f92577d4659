// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "base/core/log.hpp"
#include "poller/signals/provider.hpp"
#include "poller/signals/watttime.hpp"
#include "poller/signals/watttime_state.hpp"

namespace curtail::signals {

/// A provider of WattTime's live values.
///
/// The provider queries each value while the value is current, and keeps it for a day in the state
/// folder. All processes that cron starts share the stored values. A failed query discards no
/// stored value. If no process queries for some time, that time remains a gap. The provider never
/// fetches past values or later corrections: they were not known when windows were evaluated.
class WattTimeProvider final : public Provider {
  public:
    /// Uses the state folder and the log of `client`.
    explicit WattTimeProvider(watttime::AccountClient client) : client_(std::move(client)) {}
    /// Returns the known samples in [from, to]. `to` must be the current real time. WattTime has
    /// one value for each period of five minutes. If the value of the current period is not yet
    /// known, queries WattTime before it returns.
    ///
    /// After a failed query, all processes wait before the next query of this region. The wait is
    /// 30 s and doubles with each failure, up to 5 min. If the server's Retry-After asks for a
    /// longer wait, the processes wait that long, but at most an hour. During the wait, each answer
    /// has the failed query's error as its problem.
    ///
    /// If WattTime rejected the account, the wait ends early for each process that starts after a
    /// change of the credentials file. A wait for which Retry-After asked never ends early.
    ///
    /// The answer also has a problem if the newest value is at least ten minutes old.
    [[nodiscard]] Answer samples(RegionId const& region, Time from, Time to) override;

  private:
    using State = watttime::RegionState;
    State& state_of(RegionId const& region);
    void query(RegionId const& id, State& state, Time now);
    void back_off(State& state, Error const& problem, Time now) const;
    void accept(RegionId const& id, State& state, samples::Sample sample, Time now) const;
    void store(RegionId const& id, State const& state) const;
    [[nodiscard]] std::filesystem::path file_of(RegionId const& region) const;

    [[nodiscard]] watttime::Options const& options() const { return client_.options(); }

    watttime::AccountClient client_;
    std::map<RegionId, State> states_;
};

}  // namespace curtail::signals
