// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/site.hpp"
#include "rounds/site_detail.hpp"

/// LEASE, WAIT, GATHER, MERGE, LONE.
namespace curtail::rounds {

void Site::begin_lease()
{
    mode_ = Mode::merge;
    if (lease_.mine && now_ < lease_.until) begin_gather();
    else go(Phase::lease_create);
}

bool Site::act_lease_create()
{
    if (deadline_) {
        leave();
        return true;
    }
    create(lease_name(tip_->round, lease_.k + 1),
           encode(Lease{writer(), lease_.k + 1, run_.params.lease, store_now()}).bytes);
    return true;
}

void Site::answered_lease_create(Input const& input)
{
    if (!std::holds_alternative<Created>(input)) {
        phase_ = Phase::lease_read;
        return;
    }
    lease_ = {lease_.k + 1, true, now_ + run_.params.lease};
    begin_gather();
}

bool Site::act_lease_read()
{
    get(lease_name(tip_->round, lease_.k + 1));
    return true;
}

/// Reads forward to the highest lease of this round. Each is valid for lease_s from its first read.
void Site::answered_lease_read(Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        auto const lease = decode_lease(got->bytes, lease_name(tip_->round, lease_.k + 1));
        lease_ = {lease_.k + 1, lease && lease->member == writer(), now_ + run_.params.lease};
        if (lease && store_now() - lease->time > run_.params.lease) lease_.until = now_;
        return go(Phase::lease_read);
    }
    bool const held = lease_.k > 0 && now_ < lease_.until;
    if (held && lease_.mine) return begin_gather();
    if (held) {
        next_poll_ = now_ + run_.params.poll_wait;
        return go(Phase::wait);
    }
    // No lease is valid and ours could not be created.
    if (tries_ < detail::tries_limit) return retry(Phase::lease_create);
    give_up();
}

bool Site::act_wait()
{
    if (deadline_) {
        leave();
        return true;
    }
    if (reached(lease_.until)) {
        go(Phase::lease_create);
        return true;
    }
    if (!reached(next_poll_)) return false;
    phase_ = Phase::wait_poll;
    return true;
}

void Site::answered_wait_poll(Input const& input) { polled_during_merge(input, Phase::wait); }
void Site::answered_gather_poll(Input const& input)
{
    polled_during_merge(input, Phase::gather_headers);
}

/// Answer to a poll for the next commit while waiting for a merge or preparing one.
void Site::polled_during_merge(Input const& input, Phase back)
{
    next_poll_ = now_ + run_.params.poll_wait;
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        phase_ = back;
        if (back == Phase::gather_headers) begin_scan(others());
        return;
    }
    if (!take_next(got->bytes)) return;
    back_ = back;
    go(Phase::adopt_forward);
}

void Site::begin_gather()
{
    gather_until_ = now_ + run_.params.gather_time;
    begin_scan(others());
    go(Phase::gather_headers);
}

bool Site::act_gather_headers()
{
    if (!act_scan()) gather_done();
    return true;
}

bool Site::act_gather_pause()
{
    if (deadline_) {
        leave();
        return true;
    }
    if (!reached(next_poll_) && !reached(gather_until_)) return false;
    phase_ = Phase::gather_poll;
    return true;
}

void Site::gather_done()
{
    if (deadline_) return leave();
    if (!all_found() && now_ < gather_until_) {
        next_poll_ = now_ + run_.params.poll_wait;
        return go(Phase::gather_pause);
    }
    intents_ = {};
    scanned_seq_.clear();
    for (auto const& id : others())
        if (suspect(*tip_->find(id))) propose_removal(id, Removal::silent);
    for (auto const& id : earlier_instances()) propose_removal(id, Removal::succeeded);
    draft_.reset();
    go(Phase::merge);
}

/// True if each member that can be expected to contribute to this round has done so.
bool Site::all_found() const
{
    auto const dead = earlier_instances();
    return std::all_of(tip_->members.begin(), tip_->members.end(), [&](Member const& m) {
        bool const late = m.seq.value == 0 && m.seen - *round_began_ > run_.params.round_time / 2;
        bool const expected =
            m.id != *member_ && !m.held.empty() && m.missed < run_.params.max_missed && !late;
        if (!expected || std::find(dead.begin(), dead.end(), m.id) != dead.end()) return true;
        return std::any_of(headers_.begin(), headers_.end(), [&](auto const& entry) {
            auto const& header = entry.second.header;
            return entry.first.first == m.id &&
                   (header.base_round == tip_->round || header.leaving);
        });
    });
}

Site::MergeKey Site::key_of(Commit const& commit)
{
    MergeKey key;
    key.outer_step = commit.outer_step;
    for (auto const& d : commit.decided)
        if (!d.refused && !d.ranges.empty()) key.included.emplace_back(d.member, d.seq, d.scale);
    return key;
}

bool Site::act_merge()
{
    if (deadline_) {
        // A leaving site starts no merge: its work is safe in the store and another site merges it.
        abandon_payloads();
        if (mode_ == Mode::fold) finish(ExitCode::ok);
        else leave();
        return true;
    }
    auto const commit = build();
    bool const needs_model = commit && commit->kind == Commit::Kind::merge;
    MergeKey key;
    if (needs_model) {
        key = key_of(*commit);
        key.parent = tip_->model;
    }
    if (!needs_model || (made_ && made_->key == key)) {
        go(Phase::commit_create);
        return true;
    }
    abandon_payloads();
    ++attempt_;
    auto const round = tip_->round.next();
    Merge merge{0,
                tip_->model,
                tip_->outer,
                {},
                key.outer_step,
                run_.outer.eta,
                run_.outer.mu,
                targets(round, weights_part),
                {}};
    if (key.outer_step) merge.momentum = targets(round, momentum_part);
    for (auto const& [member, seq, scale] : key.included)
        merge.include.push_back({member, seq, scale, headers_.at({member, seq}).header.parts});
    auto names = detail::names_of(merge.weights);
    for (auto const& name : detail::names_of(merge.momentum)) names.push_back(name);
    payloads_.push_back({std::move(names), {}});
    made_ = Made{std::move(key), {}, {}};
    merge.op = ask(Question::merge);
    out_.emplace_back(std::move(merge));
    return true;
}

void Site::answered_merge(Input const& input)
{
    auto const* merged = std::get_if<Merged>(&input);
    if (merged == nullptr) {
        abandon_payloads();
        if (load_failed(input)) return;
        if (std::holds_alternative<Unavailable>(input) && tries_ < detail::tries_limit)
            return retry(Phase::merge);
        return give_up();
    }
    if (!merged->bad.empty()) return merge_refused(merged->bad);
    auto stored = merged->model;
    stored.insert(stored.end(), merged->momentum.begin(), merged->momentum.end());
    detail::require_targets(stored, payloads_.back().names);
    made_->model = merged->model;
    made_->momentum = merged->momentum;
    load_failures_ = 0;
    go(Phase::commit_create);
}

/// A refusal is final, and an answer "missing" may be stale. So a missing payload is asked for
/// again in several polls before its contribution is refused.
void Site::merge_refused(std::vector<Merged::Bad> const& bad)
{
    constexpr int absent_limit = 5;
    bool wait = false;
    for (auto const& b : bad) {
        Key const key{b.member, b.seq};
        if (b.absent && ++absent_payloads_[key] < absent_limit) wait = true;
        else headers_.at(key).bad = b.reason;
    }
    abandon_payloads();
    go(Phase::merge);
    if (wait) not_before_ = now_ + run_.params.poll_wait;
}

bool Site::act_lone_store()
{
    abandon_payloads();
    ++attempt_;
    StoreModel store{0, targets(tip_->round.next(), weights_part)};
    payloads_.push_back({detail::names_of(store.parts), {}});
    MergeKey key;
    key.parent = tip_->model;
    for (auto const& own : undecided_)
        key.included.emplace_back(own.header.member, own.header.seq, 0.0F);
    made_ = Made{std::move(key), {}, {}};
    store.op = ask(Question::store);
    out_.emplace_back(std::move(store));
    return true;
}

void Site::answered_lone_store(Input const& input)
{
    auto const* stored = std::get_if<Stored>(&input);
    if (stored != nullptr) {
        detail::require_targets(stored->parts, payloads_.back().names);
        made_->model = stored->parts;
        intents_ = {};
        scanned_seq_.clear();
        return begin_commit(Mode::lone);
    }
    if (leaving_ || tries_ < detail::tries_limit) return retry(Phase::lone_store);
    give_up();
}

}  // namespace curtail::rounds
