// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <vector>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// FIND: the newest commit and pending contributions.
namespace curtail::protocol::site {
namespace {

CommitNumber number_to_find(Parts const& p)
{
    if (p.chain.tip()) return p.chain.tip()->number.next();
    return p.search.next();
}

// The newest commit that the search has found, or that follows it.
CommitNumber newest_found(Parts const& p)
{
    return p.chain.tip() ? p.chain.tip()->number : p.search.newest();
}

// The store lacks the newest commits, or an old answer hid them.
void lacks_newest(Parts& p)
{
    auto const newest = newest_found(p);
    auto const store = newest.value == 0 ? std::string("the store has no commit")
                                         : "the newest one in the store is " + commit_name(newest);
    if (awaits(p, commit_name(p.known.greatest()), p.known.who_knows() + " it, but " + store)) {
        p.known.listed = false;
        if (!p.chain.tip()) p.search.restart();
        p.machine.set_tries(p.failures.misses);
        return p.machine.retry(Phase::find_commit);
    }
    finish(p,
           Error{ExitCode::protocol, "cannot continue the run's chain",
                 p.known.who_knows() + " " + commit_name(p.known.greatest()) + ", but " + store,
                 "if the store was restored from a backup, create the newer commits again with "
                 "`curtail-store repair` at a site that has copies; otherwise stop all sites and "
                 "start a new run with `curtail-store fork`, or with another name"});
}

// A commit below the newest may still become visible while clients can get stale answers. After
// that it is lost.
void retry_absent(Parts& p, Input const& input, CommitNumber absent)
{
    if (!std::holds_alternative<Missing>(input) ||
        awaits(p, commit_name(absent), commit_name(newest_found(p)) + " exists"))
        return p.machine.retry(p.machine.phase());
    finish(
        p,
        Error{ExitCode::protocol, "cannot read the run's chain",
              commit_name(absent) + " is missing, but " + commit_name(newest_found(p)) + " exists",
              "create it again with `curtail-store repair` at a site that has copies, or start "
              "a new run with `curtail-store fork --commit`"});
}

// Takes the answer about the commit `number`, which exists. Empty: the process reads it again, or
// exits.
std::optional<Commit> known_commit(Parts& p, Input const& input, CommitNumber number)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) {
        retry_absent(p, input, number);
        return std::nullopt;
    }
    p.failures.misses = 0;
    auto commit = p.config.decoder->commit(got->bytes, commit_name(number));
    if (!commit) {
        handle_invalid_record(p, foreign_commit(commit.error()));
        return std::nullopt;
    }
    p.failures.bad_reads = 0;
    return std::move(*commit);
}

// Goes on with the newest commit as the tip, or searches again after an error.
void start_chain(Parts& p, std::optional<Error> error)
{
    if (error) {
        p.search.restart();
        p.machine.switch_to(Phase::find_commit);
        return handle_invalid_record(p, foreign_commit(std::move(*error)));
    }
    p.payloads.settle(*p.chain.tip(), p.machine);
    p.failures.bad_reads = 0;
    p.machine.send(KeepCommit{p.chain.tip()->number, p.search.bytes()});
    bool const more = p.known.greatest() > p.chain.tip()->number;
    p.machine.go(more ? Phase::find_commit : Phase::find_seen);
}

void found_newest(Parts& p)
{
    p.pace.has_newest();
    if (!p.known.listed) return p.machine.go(Phase::find_list);
    bool const behind = newest_found(p) < p.known.greatest();
    if (behind && (p.chain.tip() || p.search.newest().value == 0)) return lacks_newest(p);
    if (p.chain.tip()) {
        p.failures.misses = 0;
        return p.machine.go(Phase::find_seen);
    }
    if (p.search.newest().value == 0 && p.chain.run().fork) {
        // `curtail-store fork` creates run.json last. So commit 1 of a fork was there, and no site
        // may create another one.
        if (++p.failures.misses < misses_limit) return p.machine.retry(Phase::find_commit);
        return finish(
            p,
            Error{ExitCode::protocol, "cannot read the run's chain",
                  "the run is a fork, but " + commit_name({1}) + " is missing",
                  "restore the object from a backup, or repeat `curtail-store fork` with another "
                  "name"});
    }
    p.failures.misses = 0;
    if (p.search.newest().value == 0) {
        p.liveness.begin(p.chain.run().sites, std::nullopt, p.machine.now());
        return p.machine.go(Phase::find_status);
    }
    if (p.search.newest().value > 1) return p.machine.go(Phase::find_parent);
    start_chain(p, p.chain.start(p.search.bytes()));
}

bool alive(Parts const& p, Member const& m)
{
    if (p.liveness.unread(m.site)) return true;
    if (p.folded.contains(m.id, p.pending.last_of(m))) return false;
    return !suspect(p, m) && !p.pending.leaves(m.id) && !p.predecessors.has_ended(m.id);
}

// The members that a fold would remove as silent.
std::vector<MemberId> silent_members(Parts const& p)
{
    std::vector<MemberId> list;
    for (auto const& m : p.chain.tip()->members)
        if (!p.predecessors.has_ended(m.id) && find_contribution(p, m.id) == nullptr)
            list.push_back(m.id);
    return list;
}

// The sites whose members this process may remove.
std::vector<SiteId> sites_to_watch(Parts const& p)
{
    std::set<SiteId> sites;
    for (auto const& m : p.chain.tip()->members)
        if (!p.predecessors.has_ended(m.id)) sites.insert(m.site);
    return {sites.begin(), sites.end()};
}

// The sites whose status this process reads: those of the run, too, by the tip and by the own
// configuration. One of them may know of a newer commit, which may even have admitted it.
std::vector<SiteId> sites_to_read(Parts const& p)
{
    auto const& of_run = p.chain.tip()->terms.sites;
    std::set<SiteId> sites(of_run.begin(), of_run.end());
    for (auto const& site : p.config.run.sites) sites.insert(site);
    for (auto const& site : sites_to_watch(p)) sites.insert(site);
    return {sites.begin(), sites.end()};
}

// How much longer the silent members must show no life before this process removes them. A living
// member writes its status once in `status_interval`.
Millis grace_left(Parts const& p)
{
    if (silent_members(p).empty()) return Millis{0};
    auto const& params = p.chain.run().params;
    return params.status_interval * 3 / 2 + 4 * params.poll_run -
           p.liveness.unchanged(sites_to_watch(p));
}

void look_again(Parts& p, Millis left)
{
    p.machine.go(Phase::find_commit);
    p.machine.pause_until(p.machine.now() + std::min(left, p.chain.run().params.poll_run));
}

// True if another process of this site may be training and has work that no header announces. Its
// place is free once it has published this work, or has shown no sign of life for some time. In the
// first case, both are members until the other process has read of the newer one, and leaves.
bool waits_for_twin(Parts& p)
{
    auto const& site = p.config.process.site;
    auto const wait = 2 * p.chain.run().params.status_interval;
    p.predecessors.look_again();
    for (auto const& m : p.chain.tip()->members) {
        if (!is_twin(p, m) || p.predecessors.has_ended(m.id)) continue;
        p.predecessors.see(m, p.machine.now());
        if (p.predecessors.has_proceeded(m) || find_contribution(p, m.id) != nullptr) continue;
        Millis const seen_for = p.machine.now() - p.predecessors.seen_since(m);
        auto const left = wait - std::min(seen_for, p.liveness.unchanged(site));
        if (left <= Millis{0}) {
            p.predecessors.is_silent(m.id);
            continue;
        }
        if (p.predecessors.must_tell(m.id)) p.machine.send(waiting_for_twin_note(m.id, wait));
        look_again(p, left);
        return true;
    }
    return false;
}

}  // namespace

// FOLD if there are members and none of them seems alive, else JOIN.
void choose_entry(Parts& p)
{
    p.proposal.discard_draft();
    if (waits_for_twin(p)) return;
    auto const& members = p.chain.tip()->members;
    bool const anyone = std::ranges::any_of(members, [&](auto const& m) { return alive(p, m); });
    if (!members.empty() && !anyone && own_member(p) == nullptr) {
        auto const left = grace_left(p);
        if (left <= Millis{0}) return p.machine.go(Phase::fold);
        if (p.liveness.must_tell()) p.machine.send(members_silent_note(silent_members(p), left));
        return look_again(p, left);
    }
    begin_scan(p, earlier_instances(p));
    p.machine.go(Phase::join_headers);
}

void act_find_commit(Parts& p) { p.machine.get(commit_name(number_to_find(p))); }

void answered_find(Parts& p, Input const& input)
{
    auto const number = number_to_find(p);
    if (std::holds_alternative<Unknown>(input)) return p.machine.retry(Phase::find_commit);
    if (auto const* got = std::get_if<Got>(&input)) {
        if (is_too_slow_to_find(p)) return;
        if (p.chain.tip()) {
            if (!take_next(p, got->bytes)) return;
            p.failures.misses = 0;
            return p.machine.go(Phase::find_commit);
        }
        p.search.exists(number, got->bytes);
        return p.machine.go(Phase::find_commit);
    }
    if (!p.chain.tip()) p.search.is_missing(number);
    if (p.chain.tip() || number == p.search.newest().next()) found_newest(p);
    else p.machine.go(Phase::find_commit);
}

// A process creates nothing before it has seen that the store has all commits.
void answered_find_list(Parts& p, Input const& input)
{
    auto const* listed = std::get_if<Listed>(&input);
    if (listed == nullptr) return p.machine.retry(Phase::find_list);
    auto const& numbers = listed->numbers.list();
    auto const end = numbers.empty() ? 1 : numbers.back().end;
    p.known.list(listed->numbers, p.failures.misses >= old_after_misses);
    auto const newest = std::max(newest_found(p).value, end - 1);
    auto const missing = Ranges::between(1, newest + 1) - listed->numbers;
    // A listing may lack the newest one, which this process has just read.
    bool const read = newest_found(p).value == newest;
    bool const whole = missing.empty() || (read && missing == Ranges::between(newest, newest + 1));
    if (!whole) return begin_mend(p, missing, Phase::find_list);
    p.known.listed = true;
    found_newest(p);
}

void act_find_seen(Parts& p)
{
    auto const& seen = p.config.seen;
    if (!seen || p.known.compared) return p.machine.go(Phase::find_sent);
    p.machine.get(commit_name(seen->number));
}

void answered_find_seen(Parts& p, Input const& input)
{
    auto const& seen = *p.config.seen;
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry_absent(p, input, seen.number);
    p.failures.misses = 0;
    if (sha256(got->bytes) != seen.sha256)
        return handle_invalid_record(
            p, Error{ExitCode::protocol, "cannot continue run " + p.chain.run().run.value,
                     commit_name(seen.number) +
                         " in the store is not the commit that this site has read before: the run "
                         "began again, or the store was restored from an older copy",
                     "if the run began again, give it another name; otherwise run `curtail-store "
                     "repair` at this site, and if it exits with 76, stop all sites, and start a "
                     "new run with `curtail-store fork`"});
    p.failures.bad_reads = 0;
    p.known.compared = true;
    p.machine.go(Phase::find_sent);
}

void act_find_parent(Parts& p) { p.machine.get(commit_name({p.search.newest().value - 1})); }

void answered_find_parent(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return retry_absent(p, input, {p.search.newest().value - 1});
    p.failures.misses = 0;
    start_chain(p, p.chain.start(p.search.newest(), p.search.bytes(), got->bytes));
}

// The record under that number shows whether the model stored for it can be deleted.
void act_find_sent(Parts& p)
{
    if (auto const number = p.payloads.unsettled_below(p.chain.tip()->number); number.value != 0)
        p.machine.get(commit_name(number));
    else p.machine.go(Phase::find_round);
}

void answered_find_sent(Parts& p, Input const& input)
{
    auto const number = p.payloads.unsettled_below(p.chain.tip()->number);
    auto const record = known_commit(p, input, number);
    if (!record) return;
    p.payloads.settle(*record, p.machine);
    p.machine.go(Phase::find_sent);
}

void act_find_round(Parts& p)
{
    if (p.chain.tip()->complete) return finish(p);
    auto const began = p.chain.tip()->recent.back().number;
    if (began == p.chain.tip()->number) p.chain.set_round_began(p.chain.tip()->time);
    if (!p.chain.round_began()) return p.machine.get(commit_name(began));
    begin_scan(p, others(p));
    p.machine.go(Phase::find_headers);
}

void answered_find_round(Parts& p, Input const& input)
{
    auto const merge = known_commit(p, input, p.chain.tip()->recent.back().number);
    if (merge) p.chain.set_round_began(merge->time);
}

void act_find_headers(Parts& p)
{
    if (act_scan(p) || repeat_scan(p, others(p))) return;
    bool const own = p.chain.tip()->by.member == writer(p);
    p.liveness.begin(sites_to_read(p), own ? std::nullopt : std::optional(p.chain.tip_sha256()),
                     p.machine.now());
    p.machine.go(Phase::find_status);
}

// The statuses may tell of newer commits, also if the store has no commit.
void act_find_status(Parts& p)
{
    if (auto const site = p.liveness.next()) return p.machine.get(status_name(*site));
    p.liveness.end(p.machine.now());
    p.known.raise(p.liveness.newest_tip(), "a site has read");
    if (newest_found(p) < p.known.greatest()) return lacks_newest(p);
    if (p.liveness.any_unread() && ++p.failures.unread_looks < misses_limit) {
        p.machine.set_tries(p.failures.unread_looks);
        return p.machine.retry(Phase::find_commit);
    }
    p.failures.unread_looks = 0;
    p.amendments.look_again();
    p.machine.go(p.chain.tip() ? Phase::find_amendment : Phase::genesis_store);
}

void answered_find_status(Parts& p, Input const& input)
{
    bool const unknown = std::holds_alternative<Unknown>(input);
    if (unknown && p.machine.tries() < tries_limit) return p.machine.retry(Phase::find_status);
    auto const* got = std::get_if<Got>(&input);
    if (unknown) p.liveness.take_unread();
    else p.liveness.take(got != nullptr ? &got->bytes : nullptr);
    p.machine.go(Phase::find_status);
}

}  // namespace curtail::protocol::site
