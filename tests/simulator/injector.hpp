// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/part.hpp"

namespace curtail::protocol::simulator {

/// Injects faults, on request or by chance.
class Injector : private Part {
  public:
    Injector(Shared& shared, Processes& processes) : Part(shared, processes) {}

    /// Injects a random fault by chance. The rate is Chaos::faults_per_s.
    void run();

    void fill_store(Millis duration);
    void take_store_away(Millis duration);
    /// Lets no request of a site succeed. `refused`: the store refuses them.
    void cut_off(std::size_t site, Millis duration, bool refused);
    /// As Simulator::inject().
    void add_foreign_object(int type);
    /// As Simulator::amend().
    void amend();
    /// As Simulator::damage_newest().
    void damage_newest();

  private:
    enum class Kind : int;

    void inject(Kind kind);
    /// Injects a fault into a process, if `kind` is such a fault.
    void inject(P const& p, Kind kind);
    void add_foreign_header(Commit const& tip, int type);
    [[nodiscard]] bool has_open_run() const;
    [[nodiscard]] bool can_mend(CommitNumber first) const;
    [[nodiscard]] bool may_create(CommitNumber number) const;
    [[nodiscard]] bool is_known_to_all(CommitNumber newest) const;
    [[nodiscard]] CommitNumber newest_told() const;
    void lose(CommitNumber first, CommitNumber last);
    void lose_commit();
    void add_foreign_commit();
    void set_back();
    template <class List>
    [[nodiscard]] auto const& any_of(List const& list)
    {
        return list[static_cast<std::size_t>(pick(0, std::ssize(list) - 1))];
    }

    Millis last_check_{0};
};

}  // namespace curtail::protocol::simulator
