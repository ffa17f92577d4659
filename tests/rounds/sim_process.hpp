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

/// One process of a site in the simulation, with the trainer and the checked invariants of this
/// process.
struct SimProcess {
    std::size_t site_index{};
    Process identity;
    Millis clock_offset{};
    Millis frozen_until{};
    bool dead{false};
    bool stopping{false};
    bool stop_delivered{false};
    int nan_cuts{0};
    std::unique_ptr<Site> machine;
    std::unique_ptr<SimTrainer> trainer;
    std::optional<Cut> cut;
    std::optional<std::pair<Adopt, Tickets>> adopt;
    std::deque<Input> inbox;  ///< inputs that arrived while the process was frozen
    std::optional<MonoTime> wake;
    std::map<std::string, bool> answered_missing;  ///< by name: the last get's answer was Missing
    std::map<std::string, Millis> refused_since;   ///< by name: first refusal since an answer

    /// Checks that site and trainer agree on the work.
    void check_against_trainer() const
    {
        bool const reports_wait = inbox.size() > 1;
        if (!trainer->loaded() || machine->exited() || reports_wait) return;
        trainer->check();
        auto const status = machine->status();
        if (status.base.value == 0) return;
        bool const member = std::find(status.members.begin(), status.members.end(),
                                      status.member) != status.members.end();
        if (!member) return;
        require(status.since == trainer->since(),
                "site and trainer differ in the work since the cut");
        if (status.state == State::run)
            require(status.undecided == trainer->undecided(),
                    "refused or decided work is still in the weights");
        auto all = status.since;
        for (auto const& own : status.undecided) all += own;
        require(status.held.contains(all), "own work outside the blocks that the member holds");
        require(!machine->tip()->done.overlaps(all), "own work is already done");
    }

    /// Checks that the site removes a member only after a get of the member's next header. The last
    /// answer must be Missing, or the store must have refused these gets since `long_ago`. A stale
    /// answer counts, because a site cannot detect it.
    void check_removals(Create const& create, Millis long_ago) const
    {
        if (create.name.rfind("commits/", 0) != 0 || !machine->tip()) return;
        auto const commit = decode_commit(create.bytes, create.name);
        require(commit.has_value(), "a site sends an invalid commit");
        for (auto const& r : commit->removed) {
            if (r.reason != Removal::silent && r.reason != Removal::succeeded) continue;
            auto const* m = machine->tip()->find(r.member);
            require(m != nullptr, "a site removes a process that is no member");
            auto const name = header_name(m->id, m->seq.next());
            auto const missing = answered_missing.find(name);
            auto const refused = refused_since.find(name);
            bool const refused_long = refused != refused_since.end() && refused->second <= long_ago;
            require(refused_long || (missing != answered_missing.end() && missing->second),
                    "a site removes " + r.member.value + " without reading its next header");
        }
    }

    /// Checks that a merge starts from the model and momentum of the newest commit that the process
    /// has read.
    void check_merge_base(Merge const& merge) const
    {
        require(merge.model == machine->tip()->model,
                "a merge that does not start from the tip's model");
        require(merge.outer == machine->tip()->outer,
                "a merge that does not start from the tip's momentum");
    }
};

}  // namespace curtail::rounds::test
