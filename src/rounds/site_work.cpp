// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "rounds/site.hpp"
#include "rounds/site_detail.hpp"

/// RUN, CUT, PUBLISH, LEAVE.
namespace curtail::rounds {

void Site::enter_run()
{
    go(Phase::run);
    back_ = Phase::run;
    next_poll_ = now_ + poll_interval();
    if (deadline_) return;
    Train train{tip_->find(*member_)->held, Tokens{tip_->totals.tokens}};
    for (auto const& own : undecided_) train.tokens_before += Tokens{own.header.tokens};
    out_.emplace_back(std::move(train));
}

/// True if every other member was admitted in this round. If this one was too, the smallest N is
/// lone.
bool Site::lone() const
{
    auto const& me = *tip_->find(*member_);
    bool smallest = true;
    for (auto const& m : tip_->members) {
        if (m.id == me.id) continue;
        if (m.since_round < tip_->round) return false;
        if (member_parts(m.id).admitted < member_parts(me.id).admitted) smallest = false;
    }
    return me.since_round < tip_->round || smallest;
}

Ranges Site::trainable() const
{
    auto blocks = tip_->find(*member_)->held - since_;
    for (auto const& own : undecided_) blocks -= own.header.ranges;
    return blocks;
}

bool Site::cut_possible() const
{
    return !since_.empty() &&
           static_cast<std::int64_t>(undecided_.size()) < run_.params.max_undecided;
}

bool Site::round_over()
{
    if (run_.params.local_steps > 0 && steps_in_round_ >= run_.params.local_steps) return true;
    return reached(round_taken_ + run_.params.round_time);
}

/// True if it is time for a cut. Having nothing left to train is another reason for one.
bool Site::due()
{
    if (!lone()) return round_over();
    return tip_->members.size() > 1 || reached(last_cut_ + run_.params.checkpoint_interval);
}

Millis Site::poll_interval() const
{
    auto const& p = run_.params;
    auto interval = lone() ? p.poll_run_lone : p.poll_run;
    if (trainable().empty()) interval = std::min(interval, p.poll_run_starved);
    return interval;
}

/// True if a roster commit with the measured rate would grant more blocks: at most one quantum is
/// left to train, some blocks are free, and the target exceeds the holding.
bool Site::wants_rate() const
{
    auto const& me = *tip_->find(*member_);
    if (measured_seconds_ <= 0 || rate() <= 0 || trainable().count() > run_.params.grant_quantum)
        return false;
    auto left = Ranges::between(0, run_.stream_blocks()) - tip_->done;
    auto const blocks_left = left.count();
    Rate sum = rate();
    for (auto const& m : tip_->members) {
        left -= m.held;
        if (m.id != me.id) sum += m.rate;
    }
    return !left.empty() && me.rate != rate() &&
           grant_target(run_, blocks_left, rate(), sum) > me.held.count();
}

/// A lone member publishes only work that it can no longer commit within its own weights.
bool Site::wants_publishing() const
{
    bool const unpublished = std::any_of(undecided_.begin(), undecided_.end(),
                                         [](Own const& own) { return !own.published; });
    if (!unpublished || !lone()) return unpublished;
    return static_cast<std::int64_t>(undecided_.size()) >= run_.params.max_undecided ||
           (since_.empty() && trainable().empty());
}

bool Site::act_run()
{
    if (deadline_) {
        leave();
        return true;
    }
    if (reached(next_poll_)) {
        phase_ = Phase::run_poll;
        return true;
    }
    if (wants_publishing() && reached(publish_after_)) {
        go(Phase::publish_store);
        return true;
    }
    bool const is_due = due();
    bool const starved = trainable().empty();
    bool const more_blocks = wants_rate() && reached(merge_after_);
    if (cut_possible() && (is_due || (starved && !more_blocks))) {
        begin_cut(false);
        return true;
    }
    if (has_published() && round_over() && reached(merge_after_)) {
        begin_lease();
        return true;
    }
    if (more_blocks) {
        intents_ = {};
        scanned_seq_.clear();
        intents_.rate = {*member_, rate()};
        begin_commit(Mode::roster);
        return true;
    }
    bool const stuck = starved || (is_due && !since_.empty());
    if (stuck && reached(scan_after_)) {
        begin_scan(others());
        go(Phase::run_scan);
        return true;
    }
    return false;
}

void Site::answered_run_poll(Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        phase_ = Phase::run;
        next_poll_ = now_ + poll_interval();
    } else if (take_next(got->bytes)) {
        back_ = Phase::run;
        go(Phase::adopt_forward);
    }
}

bool Site::act_run_scan()
{
    if (!act_scan()) run_scan_done();
    return true;
}

/// Nothing to train and nothing to cut: remove dead members, or merge others' contributions.
void Site::run_scan_done()
{
    constexpr Millis longest_pause{20'000};
    scan_after_ = now_ + std::clamp(run_.params.round_time, Millis{50}, longest_pause);
    intents_ = {};
    scanned_seq_.clear();
    bool all_found = true;
    bool any_found = has_published();
    for (auto const& id : others()) {
        auto const& m = *tip_->find(id);
        bool const found = header_of(id) != nullptr;
        any_found = any_found || found;
        if (!found && !m.held.empty()) all_found = false;
        if (suspect(m)) propose_removal(id, Removal::silent);
    }
    if (!intents_.remove.empty()) return begin_commit(Mode::roster);
    if (any_found && (all_found || round_over()) && reached(merge_after_)) return begin_lease();
    phase_ = Phase::run;
}

void Site::begin_cut(bool leaving)
{
    go(Phase::cut);
    out_.emplace_back(Cut{ask(Question::cut), next_seq_, leaving});
    if (leaving) leaving_ = true;
}

void Site::answered_cut(Input const& input)
{
    auto const& ready = std::get<CutReady>(input);
    if (ready.ranges != since_)
        throw std::logic_error("cut " + ready.ranges.to_string() + ", but trained " +
                               since_.to_string());
    auto const parts = run_.parts.size();
    if (!ready.ranges.empty() && (ready.sumsq.size() != parts || ready.nonfinite.size() != parts))
        throw std::logic_error("a cut must report each part");
    Own own;
    auto& h = own.header;
    h.run = run_.run;
    h.member = *member_;
    h.seq = next_seq_;
    h.base_round = base_;
    h.leaving = leaving_;
    h.ranges = ready.ranges;
    h.tokens = ready.ranges.count() * run_.params.block_tokens;
    h.steps = ready.steps;
    for (auto const n : ready.nonfinite) h.nonfinite += n;
    if (!h.ranges.empty())
        for (std::size_t i = 0; i < parts; ++i) {
            auto const part = delta_part(run_.parts[i].name);
            h.parts.push_back({{part, delta_name(base_, *member_, h.seq, part), 0, {}},
                               ready.sumsq[i],
                               ready.nonfinite[i]});
        }
    if (h.nonfinite > 0) h.parts.clear();
    own.stored = h.parts.empty();
    note("cut",
         json::Object{{"member", member_->value}, {"seq", h.seq.value}, {"tokens", h.tokens}});
    undecided_.push_back(std::move(own));
    next_seq_ = next_seq_.next();
    since_ = {};
    last_cut_ = now_;
    go(lone_possible() ? Phase::lone_store : Phase::publish_store);
}

/// True if the weights at the last cut contain the round's model and this member's undecided work,
/// and no other member has any.
bool Site::lone_possible() const
{
    bool work = false;
    for (auto const& own : undecided_) {
        work = work || !own.header.ranges.empty();
        if (own.header.nonfinite > 0) return false;
    }
    return work && lone() && base_ == tip_->round && dropped_.empty();
}

Site::Own* Site::next_unpublished()
{
    auto const it = std::find_if(undecided_.begin(), undecided_.end(),
                                 [](Own const& own) { return !own.published; });
    return it == undecided_.end() ? nullptr : &*it;
}

bool Site::has_published() const
{
    return std::any_of(undecided_.begin(), undecided_.end(),
                       [](Own const& own) { return own.published; });
}

bool Site::act_publish_store()
{
    auto const* own = next_unpublished();
    if (own == nullptr) {
        published_all();
        return true;
    }
    if (own->stored) {
        phase_ = Phase::publish_header;
        return true;
    }
    StoreDelta store{0, own->header.seq, {}};
    for (auto const& part : own->header.parts)
        store.parts.push_back({part.payload.part, part.payload.name});
    store.op = ask(Question::store);
    out_.emplace_back(std::move(store));
    return true;
}

bool Site::act_publish_header()
{
    auto& own = *next_unpublished();
    if (!own.encoded) {
        own.header.rate = rate();
        own.header.time = store_now();
        own.encoded = encode(own.header);
    }
    create(header_name(own.header.member, own.header.seq), own.encoded->bytes);
    return true;
}

bool Site::act_publish_read()
{
    auto const& h = next_unpublished()->header;
    get(header_name(h.member, h.seq));
    return true;
}

void Site::answered_publish(Input const& input)
{
    auto& own = *next_unpublished();
    if (auto const* stored = std::get_if<Stored>(&input)) {
        std::vector<std::string> names;
        for (auto const& part : own.header.parts) names.push_back(part.payload.name);
        detail::require_targets(stored->parts, names);
        for (std::size_t i = 0; i < names.size(); ++i)
            own.header.parts[i].payload = stored->parts[i];
        own.stored = true;
        return go(Phase::publish_header);
    }
    if (std::holds_alternative<Created>(input)) return contributed();
    if (std::holds_alternative<Exists>(input)) return go(Phase::publish_read);
    if (auto const* got = std::get_if<Got>(&input)) return header_exists(got->bytes);
    if (leaving_ || tries_ < detail::tries_limit) return retry(phase_);
    retry(Phase::run);
    publish_after_ = not_before_ + run_.params.poll_wait;
    enter_run();
}

/// An earlier try of this process created it, or a foreign program did. In the latter case no
/// second header can announce this work.
void Site::header_exists(std::string const& bytes)
{
    auto const& own = *next_unpublished();
    if (bytes == own.encoded->bytes) return contributed();
    // A single read may be corrupt; a foreign object stays the same in every read.
    if (tries_ < detail::tries_limit) return retry(Phase::publish_read);
    finish(ExitCode::protocol,
           Error{ExitCode::protocol,
                 "cannot announce " + std::to_string(own.header.tokens) + " tokens of work",
                 "a foreign object has the name " + header_name(own.header.member, own.header.seq),
                 "make sure that only this run's sites write to the store, then restart the site; "
                 "these blocks are trained again"});
}

void Site::contributed()
{
    auto& own = *next_unpublished();
    own.published = true;
    auto const& h = own.header;
    note("contributed",
         json::Object{{"member", h.member.value}, {"seq", h.seq.value}, {"tokens", h.tokens}});
    go(Phase::publish_store);
}

void Site::published_all()
{
    if (leaving_) return finish(ExitCode::ok);
    if (deadline_) return leave();
    if (lone() || round_over()) return begin_lease();
    enter_run();
}

/// Finishes the step and contributes the work done. A member without a model leaves by a header
/// without work.
void Site::leave()
{
    if (loaded_) return begin_cut(true);
    leaving_ = true;
    Own own;
    own.header.run = run_.run;
    own.header.member = *member_;
    own.header.seq = next_seq_;
    own.header.base_round = tip_->round;
    own.header.leaving = true;
    own.stored = true;
    next_seq_ = next_seq_.next();
    undecided_.push_back(std::move(own));
    go(Phase::publish_store);
}

}  // namespace curtail::rounds
