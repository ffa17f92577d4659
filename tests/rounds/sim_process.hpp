// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rounds/site.hpp"
#include "sim_store.hpp"
#include "sim_trainer.hpp"

namespace curtail::rounds::test {

/// One process of a site in the simulation, its trainer, and what it must keep to whatever happens.
struct SimProcess {
    std::size_t site_index{};
    Process identity;
    Millis clock_offset{};
    Millis frozen_until{};
    bool dead{false};
    bool stopping{false};
    bool told_to_stop{false};
    int nan_cuts{0};
    std::unique_ptr<Site> machine;
    std::unique_ptr<SimTrainer> trainer;
    std::optional<Cut> cut;
    std::optional<std::pair<Adopt, Tickets>> adopt;
    std::deque<Input> inbox;  ///< while frozen
    std::optional<MonoTime> wake;
    std::map<std::string, bool> told_absent;  ///< by name: whether the last answer to a get was
                                              ///< that there is no such object
    std::map<std::string, Millis>
        refused_since;  ///< gets of this name, and none was answered since

    /// Machine and trainer count the same work (I5).
    void agree() const
    {
        bool const reports_wait = inbox.size() > 1;
        if (!trainer->loaded() || machine->exited() || reports_wait) return;
        trainer->check();
        auto const status = machine->status();
        if (status.base.value == 0) return;
        bool const member = std::find(status.members.begin(), status.members.end(),
                                      status.member) != status.members.end();
        if (!member) return;
        hold(status.since == trainer->since(),
             "I5: machine and trainer differ about work since the cut");
        if (status.state == State::run)
            hold(status.undecided == trainer->undecided(),
                 "I5: refused or decided work stays in the weights");
        auto all = status.since;
        for (auto const& own : status.undecided) all += own;
        hold(status.held.contains(all), "I5: own work outside what the member holds");
        hold(!machine->tip()->done.overlaps(all), "I5: own work is done already");
    }

    /// A commit that it sends removes only members whose next contribution it asked for by name and
    /// was told is not there. An old answer counts: nobody can know better.
    void keeps_what_is_announced(Create const& create, Millis long_ago) const
    {
        if (create.name.rfind("commits/", 0) != 0 || !machine->tip()) return;
        auto const commit = decode_commit(create.bytes, create.name);
        hold(commit.has_value(), "a site sends a commit that cannot be read");
        for (auto const& r : commit->removed) {
            if (r.reason != Removal::silent && r.reason != Removal::succeeded) continue;
            auto const* m = machine->tip()->find(r.member);
            hold(m != nullptr, "a site removes who is no member");
            auto const name = header_name(m->id, m->seq.next());
            auto const told = told_absent.find(name);
            auto const refused = refused_since.find(name);
            bool const in_vain = refused != refused_since.end() && refused->second <= long_ago;
            hold(in_vain || (told != told_absent.end() && told->second),
                 "a site removes " + r.member.value + " without having looked for its work");
        }
    }

    /// A merge is on top of the newest record that the process has read: its model and its
    /// momentum.
    void builds_on_the_tip(Merge const& merge) const
    {
        hold(merge.model == machine->tip()->model, "a merge on another model than the tip's");
        hold(merge.outer == machine->tip()->outer, "a merge with another momentum than the tip's");
    }
};

}  // namespace curtail::rounds::test
