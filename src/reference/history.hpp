// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "energy/bill.hpp"
#include "reference/logs.hpp"

// Computes what happened in the experiment of arXiv:2602.22760 from the experiment's logs. All
// times are on the signal's clock (see Logs::zero).
namespace curtail::reference {

/// One window of a client. Includes the time after the window's closing in which the client still
/// has devices.
struct Window {
    std::size_t client{};
    Time decision;  ///< the decision to open the window
    Time ready;     ///< when the client received its devices; the client draws power from then on
    std::optional<Time> connected;   ///< event CLIENT_CONNECTED; empty if not logged
    std::vector<Time> turned_dirty;  ///< the times at which the close delay began
    std::optional<Time> drain;       ///< when the window closed; empty if it did not
    /// When the client's devices were released. If the logs contain no release, the time of the
    /// last event.
    Time released;
    Time first_step;  ///< time of the first logged step
    Time last_step;   ///< time of the last logged step
};

/// One client's part in a round.
struct RoundPart {
    std::size_t client{};
    std::int64_t steps{};
    Time first_step;
    Time last_step;
    /// Duration of the overlap of the round and the client's training segments
    /// (History::training).
    FractionalSeconds training{};
};

/// One round.
struct Round {
    std::int64_t number{};
    Time start;                  ///< event ROUND_START
    Time end;                    ///< event ROUND_END, before the merge
    std::optional<Time> merged;  ///< event AGGREGATION, when the merge ended; empty if not logged
    std::vector<RoundPart> parts;
    std::int64_t steps{};
    std::int64_t last_step{};  ///< number of the round's last step, counted from 0 over all rounds
    double loss{};             ///< mean over the round's last 100 logged steps, in nats per token
    /// Returns whether two or more clients took part.
    [[nodiscard]] bool joint() const { return parts.size() > 1; }
};

/// What happened in the experiment.
struct History {
    std::vector<Window> windows;  ///< in the order of their decisions
    /// One list per client: the intervals in which the client had devices.
    std::array<std::vector<energy::Interval>, 3> provisioned;
    /// One list per client: the client's training segments. Within a segment, successive logged
    /// steps are at most 60 s apart.
    std::array<std::vector<energy::Interval>, 3> training;
    std::vector<Round> rounds;  ///< the rounds that ended
    Time end;                   ///< time of the last event
};

/// Computes the history from the logs. Fails with `data` if the events contradict each other, for
/// example if a round ends but never started. Fails with `data` if a window has no step.
[[nodiscard]] Result<History> history_of(Logs const& logs);

}  // namespace curtail::reference
