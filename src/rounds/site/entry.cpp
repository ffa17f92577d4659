// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "rounds/reading.hpp"
#include "rounds/site/steps.hpp"

/// PROBE, FIND, GENESIS, FOLD, JOIN.
namespace curtail::rounds::site {

bool act_probe_create(Parts& p)
{
    p.machine.create(probe_name(p.config.process, ++p.attempt), "{}", true);
    return true;
}

bool act_probe_again(Parts& p)
{
    p.machine.create(probe_name(p.config.process, p.attempt), "{}");
    return true;
}

void answered_probe(Parts& p, Input const& input)
{
    auto const* created = std::get_if<Created>(&input);
    if (p.machine.phase() == Phase::probe_create) {
        if (created == nullptr) return p.machine.retry(Phase::probe_create);
        if (!created->stored_at)
            throw std::logic_error("answer to a create lacks the requested time");
        p.store_offset =
            created->stored_at->time_since_epoch() - p.machine.now().time_since_epoch();
        return p.machine.go(Phase::probe_again);
    }
    if (created != nullptr)
        return finish(
            p, ExitCode::protocol,
            Error{ExitCode::protocol, "cannot use this store",
                  "it created the existing object " + probe_name(p.config.process, p.attempt) +
                      " a second time",
                  "use a store that creates only if absent (no versioned bucket, no old server)"});
    if (std::holds_alternative<Exists>(input)) p.machine.go(Phase::run_get);
    else p.machine.retry(Phase::probe_again);
}

bool act_run_get(Parts& p)
{
    p.machine.get(run_name);
    return true;
}

bool act_run_create(Parts& p)
{
    p.machine.create(run_name, encode(p.config.run).bytes);
    return true;
}

void answered_run(Parts& p, Input const& input)
{
    if (p.machine.phase() == Phase::run_create) {
        p.machine.switch_to(Phase::run_get);
        return;
    }
    if (std::holds_alternative<Missing>(input)) return p.machine.retry(Phase::run_create);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return p.machine.retry(Phase::run_get);
    auto run = decode_run(got->bytes);
    if (!run) return refuse(p, run.error());
    if (auto error = difference(*run, p.config.run)) return finish(p, error->code, *error);
    auto const& site = p.config.process.site;
    if (std::find(run->sites.begin(), run->sites.end(), site) == run->sites.end())
        return finish(p, ExitCode::config,
                      Error{ExitCode::config, "cannot join run " + run->run.value,
                            "site " + site.value + " is not in its list of sites",
                            "list the site in the configuration that creates the run"});
    p.chain.set_run(std::move(*run), sha256(got->bytes));
    p.failures.bad_reads = 0;
    p.machine.go(Phase::find_commit);
}

CommitNumber number_to_find(Parts const& p)
{
    if (p.chain.tip()) return p.chain.tip()->number.next();
    return next_to_read(p.found, p.missing);
}

bool act_find_commit(Parts& p)
{
    p.machine.get(commit_name(number_to_find(p)));
    return true;
}

void answered_find(Parts& p, Input const& input)
{
    auto const number = number_to_find(p);
    if (std::holds_alternative<Unknown>(input)) return p.machine.retry(Phase::find_commit);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (p.chain.tip()) {
            if (take_next(p, got->bytes)) p.machine.go(Phase::find_commit);
            return;
        }
        p.found = number;
        p.found_bytes = got->bytes;
        if (p.missing.value != 0 && p.missing <= p.found) p.missing = p.found.next();
        return p.machine.go(Phase::find_commit);
    }
    if (!p.chain.tip()) p.missing = number;
    if (p.chain.tip() || number == p.found.next()) found_newest(p);
    else p.machine.go(Phase::find_commit);
}

void found_newest(Parts& p)
{
    if (p.chain.tip()) return p.machine.go(Phase::find_sent);
    if (p.found.value == 0) return p.machine.go(Phase::genesis_store);
    if (p.found.value > 1) return p.machine.go(Phase::find_parent);
    if (auto error = p.chain.start(p.found_bytes)) {
        p.found = p.missing = {};
        return refuse(p, *error);
    }
    p.payloads.settle(*p.chain.tip(), p.machine);
    p.failures.bad_reads = 0;
    p.machine.go(Phase::find_sent);
}

/// A commit below the newest may still become visible while clients can get stale answers. After
/// that it is lost.
void retry_absent(Parts& p, Phase phase, Input const& input, CommitNumber absent)
{
    constexpr int misses_limit = 14;  // takes more than a minute
    if (!std::holds_alternative<Missing>(input) || ++p.failures.misses < misses_limit)
        return p.machine.retry(phase);
    auto const newest = p.chain.tip() ? p.chain.tip()->number : p.found;
    finish(p, ExitCode::protocol,
           Error{ExitCode::protocol, "cannot read the run's chain",
                 commit_name(absent) + " is missing, but " + commit_name(newest) + " exists",
                 "restore the object from a backup, or start a new run from the newest model"});
}

bool act_find_parent(Parts& p)
{
    p.machine.get(commit_name({p.found.value - 1}));
    return true;
}

void answered_find_parent(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry_absent(p, Phase::find_parent, input, {p.found.value - 1});
    p.failures.misses = 0;
    if (auto error = p.chain.start(p.found, p.found_bytes, got->bytes)) {
        p.found = p.missing = {};
        p.machine.switch_to(Phase::find_commit);
        return refuse(p, *error);
    }
    p.payloads.settle(*p.chain.tip(), p.machine);
    p.failures.bad_reads = 0;
    p.machine.go(Phase::find_sent);
}

/// The record under that number shows whether the model stored for it can be deleted.
bool act_find_sent(Parts& p)
{
    if (auto const number = p.payloads.unsettled_below(p.chain.tip()->number); number.value != 0)
        p.machine.get(commit_name(number));
    else p.machine.go(Phase::find_round);
    return true;
}

void answered_find_sent(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr)
        return retry_absent(p, Phase::find_sent, input,
                            p.payloads.unsettled_below(p.chain.tip()->number));
    p.failures.misses = 0;
    auto const record =
        decode_commit(got->bytes, commit_name(p.payloads.unsettled_below(p.chain.tip()->number)));
    if (!record) return refuse(p, record.error());
    p.failures.bad_reads = 0;
    p.payloads.settle(*record, p.machine);
    p.machine.go(Phase::find_sent);
}

bool act_find_round(Parts& p)
{
    if (p.chain.tip()->complete) {
        finish(p, ExitCode::ok);
        return true;
    }
    auto const began = p.chain.tip()->recent.back().number;
    if (began == p.chain.tip()->number) p.chain.set_round_began(p.chain.tip()->time);
    if (!p.chain.round_began()) {
        p.machine.get(commit_name(began));
        return true;
    }
    begin_scan(p, others(p));
    p.machine.go(Phase::find_headers);
    return true;
}

void answered_find_round(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr)
        return retry_absent(p, Phase::find_round, input, p.chain.tip()->recent.back().number);
    p.failures.misses = 0;
    auto const merge = decode_commit(got->bytes, commit_name(p.chain.tip()->recent.back().number));
    if (!merge) return refuse(p, merge.error());
    p.chain.set_round_began(merge->time);
    p.failures.bad_reads = 0;
}

bool act_find_headers(Parts& p)
{
    if (!act_scan(p)) choose_entry(p);
    return true;
}

/// FOLD if there are members and none of them seems alive, else JOIN.
void choose_entry(Parts& p)
{
    p.proposal.discard_draft();
    auto const& members = p.chain.tip()->members;
    auto const ours = [&](Member const& m) {
        return member_parts(m.id).process == p.config.process;
    };
    bool const in_already = std::any_of(members.begin(), members.end(), ours);
    bool const anyone =
        std::any_of(members.begin(), members.end(), [&](Member const& m) { return alive(p, m); });
    if (!members.empty() && !anyone && !in_already) return p.machine.go(Phase::fold);
    begin_scan(p, earlier_instances(p));
    p.machine.go(Phase::join_headers);
}

bool alive(Parts const& p, Member const& m)
{
    auto const dead = p.presumed_dead.find(m.id);
    if (dead != p.presumed_dead.end() && p.pending.last_of(m) <= dead->second) return false;
    return !suspect(p, m) && !p.pending.leaves(m.id) && m.site != p.config.process.site;
}

bool act_genesis_store(Parts& p)
{
    ++p.attempt;
    MakeInitial make{0, p.chain.run().seed, targets(p, {1}, weights_part)};
    p.payloads.begin(names_of(make.parts));
    make.op = p.machine.ask(Question::store);
    p.machine.send(std::move(make));
    return true;
}

bool act_genesis_create(Parts& p)
{
    p.machine.create(commit_name({1}), p.proposal.draft()->encoded.bytes);
    return true;
}

void answered_genesis_create(Parts& p, Input const& input)
{
    p.found = p.missing = {};
    p.payloads.release_newest();
    p.machine.go(Phase::find_commit);
    // If it is missing, the next try stores another whole model.
    if (std::holds_alternative<Unknown>(input))
        p.machine.pause_until(p.machine.now() + p.config.run.params.poll_wait);
}

void answered_genesis_store(Parts& p, Input const& input)
{
    auto const* stored = std::get_if<Stored>(&input);
    if (stored == nullptr) {
        p.payloads.abandon(p.machine);
        return p.machine.retry(Phase::genesis_store);
    }
    p.payloads.require_newest(stored->parts);
    auto commit = genesis(p.chain.run(), p.chain.run_sha256(), {writer(p), p.attempt}, store_now(p),
                          stored->parts);
    auto encoded = encode(commit);
    p.proposal.set_draft({std::move(commit), std::move(encoded)});
    p.payloads.send_under({1});
    p.machine.go(Phase::genesis_create);
}

/// No member is alive: as a non-member, decide all pending contributions and remove members without
/// one. Never rebuilt on a commit of a newcomer.
bool act_fold(Parts& p)
{
    p.proposal.clear_intents();
    for (auto const& m : p.chain.tip()->members) {
        p.presumed_dead[m.id] = p.pending.last_of(m);
        propose_removal(p, m.id,
                        m.site == p.config.process.site ? Removal::succeeded : Removal::silent);
    }
    p.proposal.set_mode(Mode::fold);
    p.proposal.discard_draft();
    if (build(p)) {
        p.machine.go(Phase::merge);
        return true;
    }
    // The remaining members have unreadable headers; members remove them if that persists.
    begin_scan(p, earlier_instances(p));
    p.machine.go(Phase::join_headers);
    return true;
}

bool act_join_headers(Parts& p)
{
    if (!act_scan(p)) p.machine.go(Phase::join_create);
    return true;
}

bool act_join(Parts& p)
{
    auto const ours = [&](Member const& m) {
        return member_parts(m.id).process == p.config.process;
    };
    auto const in =
        std::find_if(p.chain.tip()->members.begin(), p.chain.tip()->members.end(), ours);
    if (in != p.chain.tip()->members.end()) {
        p.member = in->id;
        begin_base(p);
        return true;
    }
    if (!p.proposal.builds_on(p.chain.tip_sha256())) {
        p.proposal.set_mode(Mode::roster);
        p.proposal.clear_intents();
        p.proposal.admit({p.config.process, rate(p)});
        for (auto const& id : earlier_instances(p)) propose_removal(p, id, Removal::succeeded);
        auto const id = member_id(p.config.process, p.chain.tip()->number.next());
        auto commit = next(p.chain.run(), *p.chain.tip(), p.chain.tip_sha256(), {id, ++p.attempt},
                           store_now(p), {}, p.proposal.intents_at(*p.chain.tip()));
        if (!commit) throw std::logic_error("a join that changes nothing");
        if (!set_draft(p, std::move(*commit))) return true;
    }
    p.machine.create(commit_name(p.proposal.draft()->commit.number),
                     p.proposal.draft()->encoded.bytes);
    return true;
}

void answered_join(Parts& p, Input const& input)
{
    if (p.machine.phase() == Phase::join_create) {
        p.machine.switch_to(Phase::join_read);
        return;
    }
    if (auto const* got = std::get_if<Got>(&input)) {
        if (!take_next(p, got->bytes)) return;
        begin_scan(p, earlier_instances(p));
        p.machine.go(Phase::join_headers);
        bool const admitted = p.proposal.is_draft(p.chain.tip_sha256());
        if (!admitted)
            p.machine.pause_until(
                p.machine.now() +
                p.machine.jitter(std::min(Millis{2'000}, p.chain.run().params.poll_wait)));
        return;
    }
    constexpr int tries_to_join = 8;
    if (p.machine.tries() >= tries_to_join) return p.machine.go(Phase::find_commit);
    p.machine.retry(std::holds_alternative<Missing>(input) ? Phase::join_create : Phase::join_read);
}

}  // namespace curtail::rounds::site
