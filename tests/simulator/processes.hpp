// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "simulator/process.hpp"

namespace curtail::protocol::simulator {

struct Shared;

/// The processes of all sites: starts and ends them, delivers their inputs, and checks them after
/// each input.
class Processes {
  public:
    using P = std::shared_ptr<SimProcess>;
    /// `execute` carries out one output of a process.
    Processes(Shared& shared, std::function<void(P const&, Output const&)> execute)
        : shared_(shared), execute_(std::move(execute))
    {
    }

    void start(std::size_t site);
    /// Delivers one input to a process, and carries out the outputs. If the process is frozen,
    /// delivers the input after the freeze; the order of inputs stays the same.
    void deliver(P const& p, Input const& input);

    [[nodiscard]] std::vector<P> living() const;
    /// The newest living process of site `index`, or null.
    [[nodiscard]] P newest_of(std::size_t index) const;
    /// Returns whether no other process of the site has started since `p`, alive or dead.
    [[nodiscard]] bool is_newest(P const& p) const;
    void kill_all_but(std::shared_ptr<void> const& survivor);
    /// Checks SimProcess::check_losses() of all processes, also of those that have ended.
    void check_losses() const;

    void freeze(P const& p, Millis duration);
    /// Freezes a site that stores its own weights, and starts another one, by chance.
    void interrupt(P const& p);
    /// Delivers a request to leave within `grace`, of which the last tenth is too late for a
    /// transfer.
    void request_stop(P const& p, Millis grace);

  private:
    [[nodiscard]] int free_folder(std::size_t site);
    /// Returns the nonces of the processes that have run in a folder which none uses now.
    [[nodiscard]] std::set<std::uint32_t> ended_in(std::size_t site, int folder) const;
    void handle(P const& p, Input const& input);
    void wake(P const& p);
    /// Passes one input to the state machine. Throws Violation if the machine throws.
    [[nodiscard]] std::vector<Output> outputs_of(SimProcess& p, MonoTime at,
                                                 Input const& input) const;
    void thaw(P const& p);

    Shared& shared_;
    std::function<void(P const&, Output const&)> execute_;
    std::vector<P> all_;
};

}  // namespace curtail::protocol::simulator
