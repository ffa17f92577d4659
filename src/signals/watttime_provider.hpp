// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "core/log.hpp"
#include "signals/provider.hpp"
#include "signals/watttime.hpp"

namespace curtail::signals {

/// The live value of WattTime, and the live values that it gave before.
///
/// A value is asked for once per five minutes and kept in the state folder, so that runs from cron
/// share it and a failing request does not take away what is known. Gaps in which nobody asked stay
/// gaps: later corrections would claim a knowledge that nobody had.
class WattTimeProvider final : public Provider {
  public:
    /// Shares `client`'s state folder and log.
    explicit WattTimeProvider(watttime::Client client) : client_(std::move(client)) {}
    /// Asks WattTime unless a known value covers `to`, which is the present. After a failure it
    /// waits, 30 s at first and up to 5 min, or as long as the server asks for (an hour at most),
    /// before it or another process asks again, and answers the same trouble meanwhile. A refused
    /// account is asked for again as soon as its file was changed. A newest value of two periods
    /// ago or more is trouble, for a signal that stands still counts as none.
    [[nodiscard]] Answer samples(RegionId const& region, Time from, Time to) override;

  private:
    struct Region {
        std::vector<Sample> samples;
        std::optional<Error> trouble;
        int failures{0};
        std::optional<Time> not_before;  ///< nobody asks until then
        bool rest_asked{false};          ///< the server wanted it so
    };
    Region& recall(RegionId const& region);
    void ask(RegionId const& id, Region& region, Time now);
    void keep(RegionId const& id, Region const& region) const;
    [[nodiscard]] std::filesystem::path file_of(RegionId const& region) const;

    [[nodiscard]] watttime::Options const& options() const { return client_.options(); }

    watttime::Client client_;
    std::map<RegionId, Region> regions_;
};

}  // namespace curtail::signals
