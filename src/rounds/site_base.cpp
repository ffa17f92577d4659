// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rounds/site.hpp"
#include "rounds/site_detail.hpp"

/// BASE: how a new member gets its first model, and what a removed member does.
namespace curtail::rounds {

void Site::begin_base()
{
    draft_.reset();
    next_seq_ = {tip_->find(*member_)->seq.value + 1};
    base_until_ = now_ + run_.params.first_base_wait;
    next_poll_ = now_ + run_.params.poll_wait;
    base_merged_ = false;
    load_failures_ = 0;
    note("joined", json::Object{{"member", member_->value}, {"commit", tip_->number.value}});
    go(Phase::base_wait);
}

/// True if one member was alone in this round. It commits its own weights at once, which makes the
/// first common base.
bool Site::has_lone_partner() const
{
    std::int64_t before = 0;
    std::int64_t first = member_parts(*member_).admitted.value;
    for (auto const& m : tip_->members) {
        if (m.id == *member_) continue;
        if (m.since_round < tip_->round) ++before;
        first = std::min(first, member_parts(m.id).admitted.value);
    }
    return before == 1 || (before == 0 && first < member_parts(*member_).admitted.value);
}

bool Site::act_base_wait()
{
    if (tip_->find(*member_) == nullptr) {
        removed();
        return true;
    }
    if (deadline_) {
        leave();
        return true;
    }
    if (reached(next_poll_)) {
        phase_ = Phase::base_poll;
        return true;
    }
    bool const load = base_merged_ || !has_lone_partner() || reached(base_until_);
    if (load) go(Phase::base_load);
    return load;
}

void Site::answered_base_poll(Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        next_poll_ = now_ + run_.params.poll_wait;
        phase_ = base_merged_ ? Phase::base_load : Phase::base_wait;
        return;
    }
    auto const round = tip_->round;
    if (!take_next(got->bytes)) return;
    if (tip_->round != round) base_merged_ = true;
    next_poll_ = base_merged_ ? now_ : now_ + run_.params.poll_wait;
    go(Phase::base_wait);
}

bool Site::act_base_load()
{
    if (tip_->find(*member_) == nullptr) {
        removed();
        return true;
    }
    loading_ = tip_->round;
    out_.emplace_back(LoadModel{ask(Question::load), tip_->model});
    return true;
}

void Site::answered_base_load(Input const& input)
{
    if (!std::holds_alternative<Loaded>(input)) {
        if (!load_failed(input)) retry(Phase::base_forward);
        return;
    }
    auto const age = std::clamp(store_now() - *round_began_, Millis{0}, run_.params.round_time);
    base_ = loading_;
    loaded_ = true;
    load_failures_ = 0;
    round_taken_ = base_merged_ ? now_ : now_ - age;
    last_cut_ = now_;
    steps_in_round_ = 0;
    dropped_.clear();
    enter_run();
}

void Site::answered_base_forward(Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        if (take_next(got->bytes)) go(Phase::base_forward);
    } else phase_ = Phase::base_load;
}

bool Site::load_failed(Input const& input)
{
    auto const* corrupt = std::get_if<Corrupt>(&input);
    constexpr int failures_limit = 8;  // takes some seconds: a newer commit may become visible
    if (corrupt == nullptr || ++load_failures_ < failures_limit) return false;
    finish(ExitCode::data,
           Error{ExitCode::data,
                 "cannot read the model of commit " + std::to_string(tip_->number.value),
                 corrupt->name + ": " + corrupt->why,
                 "restore the object from a backup, or start a new run from an earlier commit's "
                 "model; the chain is valid up to this commit"});
    return true;
}

/// No longer in the member table: undecided work is void. Joins again as a new member, unless
/// another process has taken the place.
void Site::removed()
{
    auto const& members = tip_->members;
    bool const other = std::any_of(members.begin(), members.end(), [&](Member const& m) {
        return m.site == config_.process.site &&
               member_parts(m.id).admitted > member_parts(*member_).admitted;
    });
    if (loaded_) out_.emplace_back(Discard{});
    if (deadline_ || other || removal_ == Removal::succeeded || removal_ == Removal::left)
        return finish(ExitCode::ok);
    member_.reset();
    removal_.reset();
    loaded_ = false;
    base_ = {};
    since_ = {};
    undecided_.clear();
    dropped_.clear();
    next_seq_ = {1};
    headers_.clear();
    lone_sent_.reset();
    absent_payloads_.clear();
    abandon_payloads();
    go(Phase::find_commit);
}

}  // namespace curtail::rounds
