// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "simulator/fork.hpp"
#include "simulator/injector.hpp"
#include "simulator/merges.hpp"
#include "simulator/outputs.hpp"
#include "simulator/part.hpp"
#include "simulator/training.hpp"

namespace curtail::protocol::simulator {

/// Several sites, a store and injected faults, in one thread and simulated time. One seed
/// determines every choice.
class Simulator {
  public:
    /// All sites have the fault. The simulator itself checks by the rules.
    Simulator(RunSpec const& run, std::uint64_t seed, Chaos chaos, std::optional<Fault> fault = {});
    Simulator(Simulator const&) = delete;  // its parts refer to it
    Simulator& operator=(Simulator const&) = delete;

    /// Stores the beginning of the run, which is a fork. Call it before the first start.
    void store_fork(Origin const& origin);
    void start(std::size_t site) { processes_.start(site); }

    /// Runs until `end` or until `stop` returns true. Returns the last result of `stop`.
    bool run_until(Millis end, std::function<bool()> const& stop);
    [[nodiscard]] Millis now() const { return shared_.time.now(); }
    [[nodiscard]] std::int64_t events() const { return shared_.time.events(); }

    void set_chaos(Chaos chaos) { shared_.chaos = chaos; }
    /// Refuses all writes for `duration`; reads still work.
    void fill_store(Millis duration) { injector_.fill_store(duration); }
    /// Answers no question about the store for `duration`.
    void take_store_away(Millis duration) { injector_.take_store_away(duration); }
    void cut_off(std::size_t site, Millis duration, bool refused)
    {
        injector_.cut_off(site, duration, refused);
    }
    [[nodiscard]] int creates_refused() const { return shared_.history.creates_refused; }
    /// Adds an object that no program of Curtail writes, under a name that a site will read: the
    /// next header of a member, alive or dead, or the next lease. The types below
    /// foreign_header_types are those of foreign_header(). The types from there on are those of
    /// foreign_lease().
    void inject(int type) { injector_.add_foreign_object(type); }
    /// Proposes the next amendment: other times, another budget, or a site that retires or returns.
    /// The first site is always listed. Some amendments are damaged.
    void amend() { injector_.amend(); }
    void kill_all_but(std::shared_ptr<void> const& survivor) { processes_.kill_all_but(survivor); }
    void check_losses() const { processes_.check_losses(); }
    void kill(std::size_t nth);
    [[nodiscard]] std::shared_ptr<void> any_living();
    [[nodiscard]] std::size_t living_count() const { return processes_.living().size(); }
    /// The newest living process of site `index`, or null.
    [[nodiscard]] Site const* site_of(std::size_t index) const;
    /// Damages or deletes the newest model, or its momentum. Either the first site has a copy, or
    /// the merge can be computed once more. In the latter case, all copies may be lost too.
    void damage_newest() { injector_.damage_newest(); }
    void stop(std::size_t index, Millis grace);
    /// From now on, a step of site `index` takes about 400 ms times `factor`.
    void set_slowness(std::size_t index, double factor) { training_.set_slowness(index, factor); }
    /// From now on, the first model of a process of site `index` takes this much longer to load.
    void set_first_read(std::size_t index, Millis time) { training_.set_first_read(index, time); }
    /// From now on, the living processes of site `index` skip every step.
    void break_site(std::size_t index);
    /// Exits of processes, in order. Killed processes are not listed.
    [[nodiscard]] std::vector<Exit> const& exits() const { return shared_.history.exits; }
    [[nodiscard]] bool complete() const;
    [[nodiscard]] SimStore& store() { return shared_.store; }
    [[nodiscard]] SimStore const& store() const { return shared_.store; }
    /// Number of operations on the store and of events of trainers until now.
    [[nodiscard]] std::int64_t steps() const { return shared_.history.steps; }
    [[nodiscard]] std::vector<std::string> const& log() const { return shared_.history.log; }
    /// Writes every input and output of every Site to `trace` from now on.
    void trace_to(std::ostream* trace) { shared_.history.trace = trace; }
    /// Number of notes of each type.
    [[nodiscard]] std::map<std::string, int> const& notes() const { return shared_.history.notes; }
    /// For each state, the number of inputs after which a site was in this state.
    [[nodiscard]] std::map<ProtocolState, std::int64_t> const& states() const
    {
        return shared_.history.states;
    }
    void keep_log(bool keep) { shared_.history.keeps_log = keep; }

  private:
    using P = Processes::P;
    /// Has the right part carry out one output of a process.
    template <class O>
    void execute(P const& p, O const& o);

    Shared shared_;
    Processes processes_;
    Outputs outputs_{shared_, processes_};
    Merges merges_{shared_, processes_};
    Training training_{shared_, processes_};
    Injector injector_{shared_, processes_};
};

}  // namespace curtail::protocol::simulator
