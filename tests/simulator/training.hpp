// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "simulator/part.hpp"

namespace curtail::protocol::simulator {

/// Runs the trainers of all processes, and carries out the outputs for them.
class Training : private Part {
  public:
    /// Draws the speed of each site.
    Training(Shared& shared, Processes& processes);
    /// From now on, a step of the site takes about 400 ms times `factor`.
    void set_slowness(std::size_t site, double factor) { speed_.at(site) = factor; }
    /// From now on, the first model of a process of the site takes this much longer to load.
    void set_first_read(std::size_t site, Millis time) { first_read_.at(site) = time; }

    void execute(P const& p, LoadModel const& o);
    void execute(P const& p, Adopt const& o);
    void execute(P const& p, Cut const& o);
    void execute(P const& p, Train const& o);
    static void execute(P const& p, Discard const&) { p->trainer->discard(); }

  private:
    /// Carries out the cut or the adoption that waits for the end of a step.
    void boundary(P const& p);
    /// Takes that the process adopts the model of `round`. Checks the age of its work.
    void check_included(P const& p, Round round);
    [[nodiscard]] Published published(SiteId const& site) const;
    void step(P const& p);
    void end_step(P const& p, Millis takes, int instance);

    std::vector<Millis> first_read_;
    std::vector<double> speed_;  ///< of each site: factor of the time of a step
};

}  // namespace curtail::protocol::simulator
