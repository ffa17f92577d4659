// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "rounds/check.hpp"
#include "rounds/site.hpp"
#include "rounds/site_detail.hpp"

/// Reading the chain, COMMIT, ADOPT and the deletion of unused payloads.
namespace curtail::rounds {

bool Site::take_next(std::string const& bytes)
{
    auto record = decode_commit(bytes, commit_name(tip_->number.next()));
    auto error = record ? check(run_, *tip_, tip_sha256_, *record) : record.error();
    if (error) {
        refuse(*error);
        return false;
    }
    bad_reads_ = 0;
    load_failures_ = 0;
    tip_ = std::move(*record);
    tip_sha256_ = sha256(bytes);
    settle_payloads(*tip_);
    if (tip_->kind == Commit::Kind::merge) {
        round_began_ = tip_->time;
        lease_ = {};
    }
    forget_decided();
    if (tip_->complete) finish(ExitCode::ok);
    else if (member_) own_decisions();
    return !exited();
}

/// Applies the tip's decisions on this member.
void Site::own_decisions()
{
    auto const* me = tip_->find(*member_);
    auto const decided = [&](Own const& own) { return me != nullptr && own.header.seq <= me->seq; };
    for (auto const& own : undecided_)
        if (decided(own)) dropped_.push_back(own.header.seq);
    std::erase_if(undecided_, decided);
    for (auto const& r : tip_->removed)
        if (r.member == *member_) removal_ = r.reason;
    for (auto const& d : tip_->decided)
        if (d.member == *member_) not_finite_ = d.refused == Refusal::nan ? not_finite_ + 1 : 0;
    constexpr int not_finite_limit = 3;
    if (not_finite_ < not_finite_limit) return;
    finish(ExitCode::data,
           Error{ExitCode::data, "cannot continue training",
                 "three rounds in a row were refused for values that are not finite",
                 "lower the learning rate, or check this site's hardware"});
}

void Site::begin_commit(Mode mode)
{
    mode_ = mode;
    draft_.reset();
    go(Phase::commit_create);
}

std::optional<Commit> Site::build() const
{
    std::vector<Found> found;
    auto intents = intents_;
    std::erase_if(intents.remove, [&](auto const& entry) {
        auto const* m = tip_->find(entry.first);
        return m == nullptr || m->seq != scanned_seq_.at(entry.first);
    });
    if (mode_ == Mode::lone)
        for (auto const& own : undecided_) found.push_back({own.header, std::nullopt, {}});
    if (mode_ == Mode::merge || mode_ == Mode::fold)
        for (auto const& entry : headers_) found.push_back(entry.second);
    return next(run_, *tip_, tip_sha256_, {writer(), attempt_}, store_now(), found, intents);
}

/// Rebuilds the draft whenever the tip has changed: a record's parent is always its predecessor.
bool Site::act_commit_create()
{
    if (!draft_ || draft_->commit.parent != tip_sha256_) {
        draft_.reset();
        auto commit = build();
        if (mode_ == Mode::lone && (!commit || !lone_valid(*commit))) {
            abandon_payloads();
            go(Phase::publish_store);
            return true;
        }
        if (!commit) {
            abandon_payloads();
            go(mode_ == Mode::fold ? Phase::find_commit : Phase::adopt_forward);
            return true;
        }
        if (commit->kind == Commit::Kind::merge) {
            auto key = key_of(*commit);
            key.parent = tip_->model;
            if (mode_ != Mode::lone && (!made_ || made_->key != key)) {
                go(Phase::merge);
                return true;
            }
            commit->model = {commit->round, made_->model};
            if (commit->outer_step) commit->outer = OuterRef{run_.outer.type, made_->momentum};
            payloads_.back().sent = commit->number;
            payloads_.back().settled = false;
        }
        if (!set_draft(std::move(*commit))) return true;
        if (mode_ == Mode::lone) lone_sent_ = draft_->encoded.sha256;
    }
    create(commit_name(draft_->commit.number), draft_->encoded.bytes);
    return true;
}

void Site::answered_commit_create(Input const&) { phase_ = Phase::commit_read; }

/// Keeps an invalid record out of the chain, where no commit could follow it. The headers of other
/// sites are the only part that this program did not make, so they are suspected first.
bool Site::set_draft(Commit commit)
{
    auto encoded = encode(commit);
    auto const read = decode_commit(encoded.bytes, commit_name(commit.number));
    auto error = read ? check(run_, *tip_, tip_sha256_, *read) : read.error();
    if (!error) {
        draft_ = Draft{std::move(commit), std::move(encoded)};
        return true;
    }
    bool const others = mode_ == Mode::merge || mode_ == Mode::fold;
    if (others && refuse_widest()) {
        go(Phase::merge);
        return false;
    }
    error->code = ExitCode::software;
    finish(ExitCode::software, error->within("cannot make the next commit"));
    return false;
}

/// Treats the contribution with most ranges, the largest part of a record, as unreadable.
bool Site::refuse_widest()
{
    auto widest = headers_.end();
    for (auto it = headers_.begin(); it != headers_.end(); ++it) {
        bool const readable = it->second.header.base_round.value > 0;
        auto const width = [](auto const& entry) {
            return entry->second.header.ranges.list().size();
        };
        if (readable && (widest == headers_.end() || width(it) > width(widest))) widest = it;
    }
    if (widest == headers_.end()) return false;
    auto const& [member, seq] = widest->first;
    widest->second = unreadable(run_, member, seq, *widest->second.sha256);
    return true;
}

/// True if the stored weights contain exactly the work to be included, on top of this round's
/// model.
bool Site::lone_valid(Commit const& next) const
{
    std::vector<std::tuple<MemberId, Seq, float>> included;
    for (auto const& d : next.decided) {
        if (d.refused) return false;
        included.emplace_back(d.member, d.seq, 0.0F);
    }
    return dropped_.empty() && base_ == tip_->round && made_ && made_->key.parent == tip_->model &&
           made_->key.included == included;
}

void Site::answered_commit_read(Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        auto const round = tip_->round;
        if (!take_next(got->bytes)) return;
        if (tip_sha256_ == draft_->encoded.sha256) return landed();
        bool const rebuild =
            mode_ != Mode::fold && tip_->round == round && tip_->find(*member_) != nullptr;
        if (rebuild) return go(Phase::commit_create);
        abandon_payloads();
        return after_commit();
    }
    if (!leaving_ && tries_ >= detail::tries_limit) return give_up();
    retry(std::holds_alternative<Missing>(input) ? Phase::commit_create : Phase::commit_read);
}

void Site::landed()
{
    abandon_payloads();
    if (tip_->kind == Commit::Kind::merge) {
        std::set<SiteId> sites;
        std::int64_t tokens = 0;
        for (auto const& d : tip_->decided) {
            if (d.refused || d.ranges.empty()) continue;
            sites.insert(member_parts(d.member).process.site);
            tokens += d.tokens;
        }
        note("merged", json::Object{{"commit", tip_->number.value},
                                    {"round", tip_->round.value},
                                    {"sites", static_cast<std::int64_t>(sites.size())},
                                    {"tokens", tokens}});
        begin_garbage();
        if (garbage_) return go(Phase::garbage);
    }
    after_commit();
}

void Site::after_commit()
{
    back_ = Phase::run;
    go(mode_ == Mode::fold ? Phase::find_commit : Phase::adopt_forward);
}

/// The create may still land later, so its payload stays until the outcome is known.
void Site::give_up()
{
    abandon_payloads();
    merge_after_ = now_ + run_.params.lease / 4;
    back_ = Phase::run;
    if (mode_ == Mode::fold && !member_) retry(Phase::find_commit);
    else go(Phase::adopt_forward);
}

/// No stored payload will be sent again: deletes those that no create in flight can name.
void Site::abandon_payloads()
{
    made_.reset();
    for (auto& payload : payloads_) {
        payload.in_use = false;
        if (payload.sent.value != 0 && !payload.settled) continue;
        for (auto& name : payload.names) out_.emplace_back(Delete{std::move(name)});
        payload.names.clear();
    }
    std::erase_if(payloads_, [](Payload const& p) { return p.names.empty(); });
}

void Site::settle_payloads(Commit const& record)
{
    auto const named = [&](std::string const& name) {
        auto const is = [&](PartRef const& p) { return p.name == name; };
        bool const model = std::any_of(record.model.parts.begin(), record.model.parts.end(), is);
        return model || (record.outer &&
                         std::any_of(record.outer->parts.begin(), record.outer->parts.end(), is));
    };
    for (auto& payload : payloads_) {
        if (payload.sent != record.number) continue;
        if (named(payload.names.front())) {
            payload.names.clear();
            continue;
        }
        payload.settled = true;
        if (payload.in_use) continue;
        for (auto& name : payload.names) out_.emplace_back(Delete{std::move(name)});
        payload.names.clear();
    }
    std::erase_if(payloads_, [](Payload const& p) { return p.names.empty(); });
}

void Site::answered_adopt_forward(Input const& input)
{
    if (auto const* got = std::get_if<Got>(&input)) {
        if (take_next(got->bytes)) go(Phase::adopt_forward);
    } else phase_ = Phase::adopt_apply;
}

bool Site::act_adopt_apply()
{
    if (tip_->find(*member_) == nullptr) {
        removed();
        return true;
    }
    if (leaving_) {
        go(Phase::publish_store);
        return true;
    }
    if (tip_->round == base_ && dropped_.empty()) {
        resume();
        return true;
    }
    loading_ = tip_->round;
    bool const own = lone_sent_ == tip_sha256_ && base_.next() == tip_->round;
    out_.emplace_back(Adopt{ask(Question::adopt), tip_->model, own, dropped_, tip_->number});
    return true;
}

void Site::answered_adopt(Input const& input)
{
    if (!std::holds_alternative<Adopted>(input)) {
        if (!load_failed(input)) retry(Phase::adopt_forward);
        return;
    }
    dropped_.clear();
    load_failures_ = 0;
    if (loading_ != base_) {
        base_ = loading_;
        round_taken_ = now_;
        steps_in_round_ = 0;
        back_ = Phase::run;
        note("adopted", json::Object{{"commit", tip_->number.value}, {"round", tip_->round.value}});
    }
    resume();
}

/// Returns to the interrupted phase if the round is the same and a contribution awaits its merge.
void Site::resume()
{
    if (!has_published()) back_ = Phase::run;
    if (back_ == Phase::run) return enter_run();
    if (back_ == Phase::gather_headers) begin_scan(others());
    go(back_);
}

}  // namespace curtail::rounds
