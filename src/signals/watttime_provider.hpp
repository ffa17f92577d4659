// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "core/log.hpp"
#include "signals/provider.hpp"
#include "signals/watttime.hpp"
#include "signals/watttime_state.hpp"

namespace curtail::signals {

/// WattTime's live values, current and earlier.
///
/// Queries each value once per five minutes and keeps it in the state folder: runs from cron share
/// the values, and a failed query loses none. A time without a query stays a gap. WattTime corrects
/// values later, but a later correction was not known at that time.
class WattTimeProvider final : public Provider {
  public:
    /// Uses the client's state folder and log.
    explicit WattTimeProvider(watttime::Client client) : client_(std::move(client)) {}
    /// Queries WattTime unless a known value covers `to`, the present.
    ///
    /// After a failure, this and other processes do not query for 30 s, doubled with each failure
    /// up to 5 min, or for the server's Retry-After (at most an hour); answers contain the same
    /// problem meanwhile. A change of the credentials file ends the wait after a rejected account.
    /// A newest value older than two periods is a problem too.
    [[nodiscard]] Answer samples(RegionId const& region, Time from, Time to) override;

  private:
    using State = watttime::RegionState;
    State& state_of(RegionId const& region);
    void query(RegionId const& id, State& state, Time now);
    void back_off(State& state, Error const& problem, Time now) const;
    void accept(RegionId const& id, State& state, Sample sample, Time now) const;
    void store(RegionId const& id, State const& state) const;
    [[nodiscard]] std::filesystem::path file_of(RegionId const& region) const;

    [[nodiscard]] watttime::Options const& options() const { return client_.options(); }

    watttime::Client client_;
    std::map<RegionId, State> states_;
};

}  // namespace curtail::signals
