// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <utility>

#include "simulator/availability.hpp"
#include "simulator/causes.hpp"
#include "simulator/chaos.hpp"
#include "simulator/copies.hpp"
#include "simulator/history.hpp"
#include "simulator/process.hpp"
#include "simulator/processes.hpp"
#include "simulator/store.hpp"
#include "simulator/time.hpp"

namespace curtail::protocol::simulator {

/// What the parts of a simulation share.
struct Shared {
    RunSpec run;
    std::optional<Fault> fault;  ///< of all sites
    Chaos chaos;
    SimTime time;
    SimStore store;
    Availability availability{};
    Copies copies{};
    Causes causes{};
    History history{};

    [[nodiscard]] bool has(Fault which) const { return fault == which; }
};

/// One part of a simulation. The parts have one clock, one stream of random numbers and one store.
class Part {
  protected:
    using P = Processes::P;
    Part(Shared& shared, Processes& processes)
        : run_(shared.run),
          chaos_(shared.chaos),
          store_(shared.store),
          processes_(processes),
          steps_(shared.history.steps),
          shared_(shared)
    {
    }

    [[nodiscard]] Millis now() const { return shared_.time.now(); }
    double uniform(double from, double to) { return shared_.time.uniform(from, to); }
    bool chance(double p) { return shared_.time.chance(p); }
    std::int64_t pick(std::int64_t from, std::int64_t to) { return shared_.time.pick(from, to); }
    void later(Millis delay, std::function<void()> act)
    {
        shared_.time.later(delay, std::move(act));
    }

    void deliver(P const& p, Input const& input) { processes_.deliver(p, input); }
    /// Delivers an answer after a short time.
    void reply(P const& p, Input input)
    {
        later(Millis{pick(1, 60)}, [this, p, input = std::move(input)] { deliver(p, input); });
    }

    /// Returns whether a read of `p` that begins now gets no answer.
    [[nodiscard]] bool is_unanswered(P const& p)
    {
        return shared_.availability.is_away(p->site_index, now()) || chance(chaos_.no_answer);
    }
    /// Returns with which code a request of `p` fails now.
    [[nodiscard]] ExitCode failure(P const& p) const
    {
        bool const refused = shared_.availability.is_refused(p->site_index, now());
        return refused ? ExitCode::permission : ExitCode::temporary;
    }
    /// Returns whether a write of `p` that begins now fails.
    [[nodiscard]] bool refuses_writes(P const& p) const
    {
        return shared_.availability.refuses_writes(p->site_index, now());
    }
    /// Delivers `failure` when the limit of the operation is over.
    void reply_late(P const& p, Input failure)
    {
        later(Millis{pick(1'000, 30'000)},
              [this, p, failure = std::move(failure)] { deliver(p, failure); });
    }

    template <class... Text>
    void log_line(P const& p, Text const&... text)
    {
        shared_.history.add_line(now(), *p, text...);
    }

    RunSpec const& run_;
    Chaos const& chaos_;
    SimStore& store_;
    Processes& processes_;
    std::int64_t& steps_;
    Shared& shared_;
};

}  // namespace curtail::protocol::simulator
