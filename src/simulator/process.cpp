// SPDX-License-Identifier: Apache-2.0
#include "simulator/process.hpp"

#include <algorithm>

namespace curtail::rounds::simulator {

void SimProcess::check_against_trainer(Status const& status) const
{
    bool const reports_wait = inbox.size() > 1;
    if (!trainer->loaded() || machine->exited() || reports_wait) return;
    trainer->check();
    if (status.base.value == 0) return;
    bool const member = std::find(status.members.begin(), status.members.end(), status.member) !=
                        status.members.end();
    if (!member) return;
    require(status.since == trainer->since(), Invariant::weights,
            "site and trainer differ in the work since the cut");
    if (status.state == State::run)
        require(status.undecided == trainer->undecided(), Invariant::weights,
                "refused or decided work is still in the weights");
    auto all = status.since;
    for (auto const& own : status.undecided) all += own;
    require(status.held.contains(all), Invariant::weights,
            "own work outside the blocks that the member holds");
    require(!machine->tip()->done.overlaps(all), Invariant::weights, "own work is already done");
}

void SimProcess::check_removals(Create const& create, RecordDecoder const& decoder, Millis long_ago,
                                Millis now) const
{
    if (create.name.rfind("commits/", 0) != 0 || !machine->tip()) return;
    auto const commit = decoder.commit(create.bytes, create.name);
    require(commit.has_value(), Invariant::commit, "a site sends an invalid commit");
    for (auto const& r : commit->removed) {
        if (r.reason != Removal::silent && r.reason != Removal::succeeded) continue;
        auto const* m = machine->tip()->find(r.member);
        require(m != nullptr, Invariant::removal, "a site removes a process that is no member");
        auto const name = header_name(m->id, m->seq.next());
        auto const missing = answered_missing.find(name);
        auto const refused = refused_since.find(name);
        bool const refused_long = refused != refused_since.end() && refused->second <= long_ago;
        auto const damaged = damaged_reads.find(name);
        bool const unreadable = damaged != damaged_reads.end() && damaged->second.first >= 6 &&
                                now - damaged->second.second >= Seconds{30};
        require(
            refused_long || unreadable || (missing != answered_missing.end() && missing->second),
            Invariant::removal, [&] {
                return "a site removes " + r.member.value + " without reading its next header";
            });
    }
}

void SimProcess::check_merge_base(Merge const& merge) const
{
    require(merge.model == machine->tip()->model, Invariant::model,
            "a merge that does not start from the tip's model");
    require(merge.outer == machine->tip()->outer, Invariant::model,
            "a merge that does not start from the tip's momentum");
}

}  // namespace curtail::rounds::simulator
