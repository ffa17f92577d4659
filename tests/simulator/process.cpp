// SPDX-License-Identifier: Apache-2.0
#include "simulator/process.hpp"

#include <algorithm>

namespace curtail::protocol::simulator {

namespace {

// Returns whether the input answers a question of the site.
bool is_answer(Input const& input)
{
    return !(std::holds_alternative<Tick>(input) || std::holds_alternative<Stepped>(input) ||
             std::holds_alternative<Skipped>(input) || std::holds_alternative<Published>(input) ||
             std::holds_alternative<StopRequested>(input));
}

}  // namespace

void Vigil::observe(MonoTime last, MonoTime now, Millis skew, ProtocolState state)
{
    bool const suspended = last != MonoTime{} && now - last > skew;
    if (suspended || last == MonoTime{}) resumed_ = now;
    if (state == ProtocolState::run || state == ProtocolState::gather) awake_ = now - resumed_;
}

void RoundWatch::read(Commit const& tip)
{
    longest_ = std::max(longest_, tip.terms.params.round_time);
}

void RoundWatch::observe(Round base, Ranges const& since, MonoTime now)
{
    if (base == round_) return;
    round_ = base;
    took_over_ = now;
    carried_ = since;
}

bool RoundWatch::has_stepped(Ranges const& since) const
{
    return !since.empty() && since != carried_;
}

void RoundWatch::observe_work(bool works, MonoTime now)
{
    if (!works) runs_since_.reset();
    else if (!runs_since_) runs_since_ = now;
}

MonoTime RoundWatch::end() const { return std::max(took_over_ + longest_, *runs_since_); }

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
    require(status.skipped == trainer->skipped(), Invariant::weights,
            "site and trainer differ in the blocks skipped since the cut");
    if (status.state == ProtocolState::run)
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
    // A process also creates commits again that the store has lost. That decides nothing.
    if (machine->status().state == ProtocolState::repair) return;
    if (!machine->tip() || create.name != commit_name(machine->tip()->number.next())) return;
    auto const commit = decoder.commit(create.bytes, create.name);
    require(commit.has_value(), Invariant::commit, "a site sends an invalid commit");
    check_silence(*commit);
    for (auto const& r : commit->removed) {
        if (r.reason != Removal::silent && r.reason != Removal::succeeded) continue;
        auto const* m = machine->tip()->find(r.member);
        require(m != nullptr, Invariant::removal, "a site removes a process that is no member");
        auto const name = header_name(m->id, m->seq.next());
        require(header_reads.allow_removal(name, long_ago, now), Invariant::removal, [&] {
            return "a site removes " + r.member.value + " without reading its next header";
        });
    }
}

void SimProcess::observe(MonoTime now, Input const& input)
{
    vigil.observe(last_input, now, skew, state);
    last_input = now;
    if (is_answer(input)) last_answer = now;
    auto const* request = std::get_if<StopRequested>(&input);
    if (request == nullptr) return;
    stop_delivered = true;
    auto const& earlier = stop.value_or(*request);
    stop = {std::min(request->begin_until, earlier.begin_until),
            std::min(request->end, earlier.end)};
}

void SimProcess::check_round(Status const& status, MonoTime now, bool confused)
{
    require(!stop || now < stop->end || machine->exited(), Invariant::leaving,
            "a site stays beyond the end of its stop request");
    if (machine->tip()) round_watch.read(*machine->tip());
    round_watch.observe(status.base, status.since, now);
    // No round ends before its first step.
    bool const works = status.state == ProtocolState::run &&
                       round_watch.has_stepped(status.since) &&
                       status.waiting_for == "the end of the round";
    round_watch.observe_work(works, now);
    if (!works || stop || confused || !may_cut(status)) return;
    // If a read is open when the round ends, the site waits for it. Then it looks for a new commit
    // before it cuts. It abandons each of the two reads after a second.
    constexpr Seconds patience{1};
    auto const end = std::max(round_watch.end(), MonoTime{frozen_until + clock_offset});
    auto const last_read = std::clamp(last_answer, end, MonoTime{end + patience});
    require(now <= last_read + patience, Invariant::round,
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
        bool const succeeds = r.reason == Removal::succeeded && m != nullptr;
        if (succeeds && starts && !ended.contains(member_parts(m->id).process.nonce))
            signs.check_succession(*m, params);
        if (r.reason != Removal::silent || m == nullptr) continue;
        if (starts) signs.check_removal(*m, params);
        else
            require(vigil.awake() > params.drop_after + params.skew, Invariant::removal, [&] {
                return "a site removes " + r.member.value + " although it was suspended itself";
            });
    }
}

void SimProcess::check_leaving(SimStore const& store) const
{
    auto const status = machine->status();
    bool const in_time = !stop || last_input < stop->end;
    if (!status.leaving || !status.member || !in_time || store.chain().empty()) return;
    auto const* m = store.chain().back().find(*status.member);
    if (m == nullptr) return;
    for (auto seq = m->seq.next(); store.has_announced(m->id, seq); seq = seq.next())
        require(header_reads.has_asked_for(header_name(m->id, seq)), Invariant::leaving,
                "a site leaves without reading its header back");
}

void SimProcess::check_account(SimStore const& store) const
{
    check_losses(store);
    auto known = ledger.lost + ledger.unanswered;
    if (auto const& tip = machine->tip()) {
        for (auto const& commit : store.chain())
            for (auto const& d : commit.decided)
                if (commit.number <= tip->number && !d.refused &&
                    member_parts(d.member).process == identity)
                    known += d.tokens;
        for (auto const& m : tip->members)
            if (member_parts(m.id).process == identity) known += store.announced_after(m.id, m.seq);
    }
    require(ledger.trained <= known, Invariant::account, [&] {
        return "a process has trained " + std::to_string(ledger.trained.value) +
               " tokens, and says nothing of " + std::to_string((ledger.trained - known).value) +
               " of them";
    });
}

void SimProcess::check_losses(SimStore const& store) const
{
    if (ledger.lost == Tokens{}) return;
    auto counted = ledger.lost;
    for (auto const& commit : store.chain())
        for (auto const& d : commit.decided)
            if (!d.refused && member_parts(d.member).process == identity) counted += d.tokens;
    require(counted <= ledger.trained, Invariant::account, [&] {
        return "a process has trained " + std::to_string(ledger.trained.value) +
               " tokens, and says that " + std::to_string(ledger.lost.value) +
               " of them are lost, but " + std::to_string((counted - ledger.lost).value) +
               " are in the model";
    });
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

}  // namespace curtail::protocol::simulator
