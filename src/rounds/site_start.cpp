// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "rounds/check.hpp"
#include "rounds/reading.hpp"
#include "rounds/site.hpp"
#include "rounds/site_detail.hpp"

/// PROBE, FIND, GENESIS, FOLD, JOIN.
namespace curtail::rounds {

void detail::require_targets(std::vector<PartRef> const& parts,
                             std::vector<std::string> const& names)
{
    bool const same =
        std::equal(parts.begin(), parts.end(), names.begin(), names.end(),
                   [](PartRef const& p, std::string const& n) { return p.name == n; });
    if (!same) throw std::logic_error("stored other parts than requested");
}

bool Site::act_probe_create()
{
    create(probe_name(config_.process, ++attempt_), "{}", true);
    return true;
}

bool Site::act_probe_again()
{
    create(probe_name(config_.process, attempt_), "{}");
    return true;
}

void Site::answered_probe(Input const& input)
{
    auto const* created = std::get_if<Created>(&input);
    if (phase_ == Phase::probe_create) {
        if (created == nullptr) return retry(Phase::probe_create);
        if (!created->stored_at)
            throw std::logic_error("answer to a create lacks the requested time");
        store_offset_ = created->stored_at->time_since_epoch() - now_.time_since_epoch();
        return go(Phase::probe_again);
    }
    if (created != nullptr)
        return finish(
            ExitCode::protocol,
            Error{ExitCode::protocol, "cannot use this store",
                  "it created the existing object " + probe_name(config_.process, attempt_) +
                      " a second time",
                  "use a store that creates only if absent (no versioned bucket, no old server)"});
    if (std::holds_alternative<Exists>(input)) go(Phase::run_get);
    else retry(Phase::probe_again);
}

bool Site::act_run_get()
{
    get(run_name);
    return true;
}

bool Site::act_run_create()
{
    create(run_name, encode(config_.run).bytes);
    return true;
}

void Site::answered_run(Input const& input)
{
    if (phase_ == Phase::run_create) {
        phase_ = Phase::run_get;
        return;
    }
    if (std::holds_alternative<Missing>(input)) return retry(Phase::run_create);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry(Phase::run_get);
    auto run = decode_run(got->bytes);
    if (!run) return refuse(run.error());
    if (auto error = difference(*run, config_.run)) return finish(error->code, *error);
    auto const& site = config_.process.site;
    if (std::find(run->sites.begin(), run->sites.end(), site) == run->sites.end())
        return finish(ExitCode::config,
                      Error{ExitCode::config, "cannot join run " + run->run.value,
                            "site " + site.value + " is not in its list of sites",
                            "list the site in the configuration that creates the run"});
    run_ = std::move(*run);
    run_sha256_ = sha256(got->bytes);
    bad_reads_ = 0;
    go(Phase::find_commit);
}

CommitNumber Site::number_to_find() const
{
    if (tip_) return tip_->number.next();
    return next_to_read(found_, missing_);
}

bool Site::act_find_commit()
{
    get(commit_name(number_to_find()));
    return true;
}

void Site::answered_find(Input const& input)
{
    auto const number = number_to_find();
    if (std::holds_alternative<Unknown>(input)) return retry(Phase::find_commit);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (tip_) {
            if (take_next(got->bytes)) go(Phase::find_commit);
            return;
        }
        found_ = number;
        found_bytes_ = got->bytes;
        if (missing_.value != 0 && missing_ <= found_) missing_ = found_.next();
        return go(Phase::find_commit);
    }
    if (!tip_) missing_ = number;
    if (tip_ || number == found_.next()) found_newest();
    else go(Phase::find_commit);
}

void Site::found_newest()
{
    if (tip_) return go(Phase::find_sent);
    if (found_.value == 0) return go(Phase::genesis_store);
    if (found_.value > 1) return go(Phase::find_parent);
    auto first = decode_commit(found_bytes_, commit_name(found_));
    auto error = first ? check_genesis(run_, run_sha256_, *first) : first.error();
    if (error) {
        found_ = missing_ = {};
        return refuse(*error);
    }
    tip_ = std::move(*first);
    tip_sha256_ = sha256(found_bytes_);
    settle_payloads(*tip_);
    bad_reads_ = 0;
    go(Phase::find_sent);
}

/// A commit below the newest may still become visible while clients can get stale answers. After
/// that it is lost.
void Site::retry_absent(Phase phase, Input const& input, CommitNumber absent)
{
    constexpr int misses_limit = 14;  // takes more than a minute
    if (!std::holds_alternative<Missing>(input) || ++misses_ < misses_limit) return retry(phase);
    auto const newest = tip_ ? tip_->number : found_;
    finish(ExitCode::protocol,
           Error{ExitCode::protocol, "cannot read the run's chain",
                 commit_name(absent) + " is missing, but " + commit_name(newest) + " exists",
                 "restore the object from a backup, or start a new run from the newest model"});
}

bool Site::act_find_parent()
{
    get(commit_name({found_.value - 1}));
    return true;
}

void Site::answered_find_parent(Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry_absent(Phase::find_parent, input, {found_.value - 1});
    misses_ = 0;
    auto const parent = decode_commit(got->bytes, commit_name({found_.value - 1}));
    auto child = decode_commit(found_bytes_, commit_name(found_));
    auto error = !parent  ? std::optional(parent.error())
                 : !child ? child.error()
                          : check(run_, *parent, sha256(got->bytes), *child);
    if (error) {
        found_ = missing_ = {};
        phase_ = Phase::find_commit;
        return refuse(*error);
    }
    tip_ = std::move(*child);
    tip_sha256_ = sha256(found_bytes_);
    settle_payloads(*tip_);
    bad_reads_ = 0;
    go(Phase::find_sent);
}

/// The number of an own create whose outcome is unknown although the chain has grown beyond it.
/// Happens when many sites start a run at once. 0: none.
CommitNumber Site::unsettled_create() const
{
    for (auto const& payload : payloads_)
        if (payload.sent.value != 0 && payload.sent < tip_->number && !payload.settled)
            return payload.sent;
    return {};
}

/// The record under that number shows whether the model stored for it can be deleted.
bool Site::act_find_sent()
{
    if (auto const number = unsettled_create(); number.value != 0) get(commit_name(number));
    else go(Phase::find_round);
    return true;
}

void Site::answered_find_sent(Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry_absent(Phase::find_sent, input, unsettled_create());
    misses_ = 0;
    auto const record = decode_commit(got->bytes, commit_name(unsettled_create()));
    if (!record) return refuse(record.error());
    bad_reads_ = 0;
    settle_payloads(*record);
    go(Phase::find_sent);
}

bool Site::act_find_round()
{
    if (tip_->complete) {
        finish(ExitCode::ok);
        return true;
    }
    auto const began = tip_->recent.back().number;
    if (began == tip_->number) round_began_ = tip_->time;
    if (!round_began_) {
        get(commit_name(began));
        return true;
    }
    begin_scan(others());
    go(Phase::find_headers);
    return true;
}

void Site::answered_find_round(Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry_absent(Phase::find_round, input, tip_->recent.back().number);
    misses_ = 0;
    auto const merge = decode_commit(got->bytes, commit_name(tip_->recent.back().number));
    if (!merge) return refuse(merge.error());
    round_began_ = merge->time;
    bad_reads_ = 0;
}

bool Site::act_find_headers()
{
    if (!act_scan()) choose_entry();
    return true;
}

/// FOLD if there are members and none of them seems alive, else JOIN.
void Site::choose_entry()
{
    draft_.reset();
    auto const& members = tip_->members;
    auto const ours = [&](Member const& m) {
        return member_parts(m.id).process == config_.process;
    };
    bool const in_already = std::any_of(members.begin(), members.end(), ours);
    bool const anyone =
        std::any_of(members.begin(), members.end(), [&](Member const& m) { return alive(m); });
    if (!members.empty() && !anyone && !in_already) return go(Phase::fold);
    begin_scan(earlier_instances());
    go(Phase::join_headers);
}

bool Site::alive(Member const& m) const
{
    Seq last = m.seq;
    bool leaves = false;
    for (auto const& [key, found] : headers_)
        if (key.first == m.id) {
            last = std::max(last, key.second);
            leaves = leaves || found.header.leaving;
        }
    auto const judged = presumed_dead_.find(m.id);
    if (judged != presumed_dead_.end() && last <= judged->second) return false;
    return !suspect(m) && !leaves && m.site != config_.process.site;
}

bool Site::act_genesis_store()
{
    ++attempt_;
    MakeInitial make{0, run_.seed, targets({1}, weights_part)};
    payloads_.push_back({detail::names_of(make.parts), {}});
    make.op = ask(Question::store);
    out_.emplace_back(std::move(make));
    return true;
}

bool Site::act_genesis_create()
{
    create(commit_name({1}), draft_->encoded.bytes);
    return true;
}

void Site::answered_genesis_create(Input const& input)
{
    found_ = missing_ = {};
    payloads_.back().in_use = false;
    go(Phase::find_commit);
    // If it is missing, the next try stores another whole model.
    if (std::holds_alternative<Unknown>(input)) not_before_ = now_ + config_.run.params.poll_wait;
}

void Site::answered_genesis_store(Input const& input)
{
    auto const* stored = std::get_if<Stored>(&input);
    if (stored == nullptr) {
        abandon_payloads();
        return retry(Phase::genesis_store);
    }
    detail::require_targets(stored->parts, payloads_.back().names);
    auto commit = genesis(run_, run_sha256_, {writer(), attempt_}, store_now(), stored->parts);
    auto encoded = encode(commit);
    draft_ = Draft{std::move(commit), std::move(encoded)};
    payloads_.back().sent = {1};
    go(Phase::genesis_create);
}

/// No member is alive: as a non-member, decide all pending contributions and remove members without
/// one. Never rebuilt on a commit of a newcomer.
bool Site::act_fold()
{
    intents_ = {};
    scanned_seq_.clear();
    for (auto const& m : tip_->members) {
        Seq last = m.seq;
        for (auto const& entry : headers_)
            if (entry.first.first == m.id) last = std::max(last, entry.first.second);
        presumed_dead_[m.id] = last;
        propose_removal(m.id,
                        m.site == config_.process.site ? Removal::succeeded : Removal::silent);
    }
    mode_ = Mode::fold;
    draft_.reset();
    if (build()) {
        go(Phase::merge);
        return true;
    }
    // The remaining members have unreadable headers; members remove them if that persists.
    begin_scan(earlier_instances());
    go(Phase::join_headers);
    return true;
}

bool Site::act_join_headers()
{
    if (!act_scan()) go(Phase::join_create);
    return true;
}

bool Site::act_join()
{
    auto const ours = [&](Member const& m) {
        return member_parts(m.id).process == config_.process;
    };
    auto const in = std::find_if(tip_->members.begin(), tip_->members.end(), ours);
    if (in != tip_->members.end()) {
        member_ = in->id;
        begin_base();
        return true;
    }
    if (!draft_ || draft_->commit.parent != tip_sha256_) {
        mode_ = Mode::roster;
        intents_ = {};
        scanned_seq_.clear();
        intents_.admit = Admission{config_.process, rate()};
        for (auto const& id : earlier_instances()) propose_removal(id, Removal::succeeded);
        auto const id = member_id(config_.process, tip_->number.next());
        auto commit = next(run_, *tip_, tip_sha256_, {id, ++attempt_}, store_now(), {}, intents_);
        if (!commit) throw std::logic_error("a join that changes nothing");
        if (!set_draft(std::move(*commit))) return true;
    }
    create(commit_name(draft_->commit.number), draft_->encoded.bytes);
    return true;
}

void Site::answered_join(Input const& input)
{
    if (phase_ == Phase::join_create) {
        phase_ = Phase::join_read;
        return;
    }
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!take_next(got->bytes)) return;
        begin_scan(earlier_instances());
        go(Phase::join_headers);
        bool const admitted = tip_sha256_ == draft_->encoded.sha256;
        if (!admitted) not_before_ = now_ + jitter(std::min(Millis{2'000}, run_.params.poll_wait));
        return;
    }
    constexpr int tries_to_join = 8;
    if (tries_ >= tries_to_join) return go(Phase::find_commit);
    retry(std::holds_alternative<Missing>(input) ? Phase::join_create : Phase::join_read);
}

}  // namespace curtail::rounds
