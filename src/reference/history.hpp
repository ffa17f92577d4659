// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "energy/bill.hpp"
#include "reference/logs.hpp"

/// What happened in the reference experiment, from its logs.
namespace curtail::reference {

/// One stay of a client, from the decision to open to the release of its devices.
struct Window {
    std::size_t client{};
    Time decision;
    Time ready;  ///< devices provisioned: power is drawn from here
    std::optional<Time> connected;
    std::vector<Time> turned_dirty;  ///< each time the closing delay began
    std::optional<Time> drain;       ///< the window closed
    Time released;                   ///< the last event if the experiment ended first
    Time first_step;
    Time last_step;
};

/// A site's part in a round.
struct RoundPart {
    std::size_t client{};
    std::int64_t steps{};
    Time first_step;
    Time last_step;
    FractionalSeconds training{};  ///< inside training segments
};

struct Round {
    std::int64_t number{};
    Time start;
    Time end;
    std::optional<Time> merged;
    std::vector<RoundPart> parts;
    std::int64_t steps{};
    std::int64_t last_step{};
    double loss{};  ///< mean of the last 100 rows, nats
    [[nodiscard]] bool joint() const { return parts.size() > 1; }
};

struct History {
    std::vector<Window> windows;  ///< in order of decision
    std::array<std::vector<energy::Interval>, 3> provisioned;
    std::array<std::vector<energy::Interval>, 3> training;
    std::vector<Round> rounds;  ///< those that ended
    Time end;                   ///< last event
};

/// `data` if the events contradict each other: a window that is ready before it was decided, a
/// round that ends without a start.
[[nodiscard]] Result<History> history_of(Logs const& logs);

}  // namespace curtail::reference
