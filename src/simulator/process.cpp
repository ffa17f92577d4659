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
    check_silence(*commit);
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

void SimProcess::observe(MonoTime now, Input const& input)
{
    bool const suspended = last_input != MonoTime{} && now - last_input > skew;
    if (suspended || last_input == MonoTime{}) resumed = now;
    last_input = now;
    if (state == State::run || state == State::gather) awake = now - resumed;
    auto const* request = std::get_if<StopRequested>(&input);
    if (request == nullptr) return;
    stop_delivered = true;
    auto const& earlier = stop.value_or(*request);
    stop = {std::min(request->begin_until, earlier.begin_until),
            std::min(request->end, earlier.end)};
}

void SimProcess::check_round(Status const& status, MonoTime now)
{
    require(!stop || now < stop->end || machine->exited(), Invariant::leaving,
            "a site stays beyond the end of its stop request");
    if (machine->tip())
        longest_round = std::max(longest_round, machine->tip()->terms.params.round_time);
    if (status.base != round) {
        round = status.base;
        took_over = now;
        carried = status.since;
    }
    // No round ends before its first step.
    bool const works = status.state == State::run && !status.since.empty() &&
                       status.since != carried && status.waiting_for == "the end of the round";
    if (!works) runs_since.reset();
    else if (!runs_since) runs_since = now;
    if (!works || stop || !may_cut(status)) return;
    constexpr Seconds open_question{1};
    auto const end =
        std::max({took_over + longest_round, *runs_since, MonoTime{frozen_until + clock_offset}});
    require(now <= end + open_question, Invariant::round,
            "a site trains on after the end of its round");
}

bool SimProcess::may_cut(Status const& status) const
{
    auto const& tip = *machine->tip();
    auto const undecided = static_cast<std::int64_t>(status.undecided.size());
    return status.base == tip.round && undecided < tip.terms.params.max_undecided &&
           std::any_of(tip.members.begin(), tip.members.end(), [&](Member const& m) {
               return m.id != status.member && m.since_round < tip.round;
           });
}

void SimProcess::check_silence(Commit const& commit) const
{
    auto const& tip = *machine->tip();
    auto const& params = tip.terms.params;
    bool const starts = tip.find(commit.by.member) == nullptr;
    for (auto const& r : commit.removed) {
        auto const* m = tip.find(r.member);
        if (r.reason != Removal::silent || m == nullptr || m->missed >= params.max_missed) continue;
        if (starts) signs.check_removal(*m, params);
        else
            require(awake > params.drop_after + params.skew, Invariant::removal, [&] {
                return "a site removes " + r.member.value + " although it was suspended itself";
            });
    }
}

void SimProcess::check_transfer(MonoTime now) const
{
    require(!stop || now < stop->begin_until, Invariant::leaving,
            "a site that leaves begins a transfer too late");
}

void SimProcess::check_merge_base(Merge const& merge) const
{
    require(merge.model == machine->tip()->model, Invariant::model,
            "a merge that does not start from the tip's model");
    require(merge.outer == machine->tip()->outer, Invariant::model,
            "a merge that does not start from the tip's momentum");
}

}  // namespace curtail::rounds::simulator
