// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// MEND: commits that the store has lost.
namespace curtail::protocol::site {
namespace {

// Other processes mend the chain, too, and a single answer of the store may be old. So a process
// that cannot go on without the lost commits waits before it exits.
void cannot_mend(Parts& p)
{
    auto const& m = p.mending;
    if (m.back == Phase::run) {
        if (p.mending.told != m.last) p.machine.send(commits_lost_note(m.first, m.last));
        p.mending.told = m.last;
        return p.machine.go(Phase::run);
    }
    if (++p.failures.misses < misses_limit) {
        p.machine.set_tries(p.failures.misses);
        return p.machine.retry(m.back);
    }
    finish(p, Error{ExitCode::protocol, "cannot continue the run's chain",
                    commit_names(m.missing) +
                        (m.missing.count() == 1 ? " is missing" : " are missing"),
                    "create them again with `curtail-store repair` at a site that has copies, or "
                    "start a new run with `curtail-store fork --commit`"});
}

Error other_history(CommitNumber number)
{
    return {
        ExitCode::protocol, "cannot continue the run's chain",
        commit_name(number) +
            " in the store is not the commit that this site has read: the store was restored "
            "from an older copy and other sites went on, or somebody replaced the object",
        "run `curtail-store repair` at this site; if it exits with 76, stop all sites, and start "
        "a new run with `curtail-store fork`"};
}

Error other_run(std::string const& name)
{
    return {ExitCode::protocol,
            "cannot continue the run's chain",
            name + " belongs to another run",
            {}};
}

Ranges one(CommitNumber number) { return Ranges::between(number.value, number.value + 1); }

// The store has not said whether the chain is whole.
void check_failed(Parts& p)
{
    bool const joins =
        p.machine.phase() == Phase::join_check || p.machine.phase() == Phase::join_list;
    bool const fails = p.machine.tries() >= tries_limit;
    if (fails && !joins && !p.contributions.leaving()) return give_up(p);
    p.machine.retry(joins ? Phase::join_check : Phase::commit_check);
}

void read_copies(Parts& p, Digest const& newest)
{
    p.mending.sha256 = newest;
    p.mending.number = p.mending.last;
    p.mending.copies.clear();
    p.machine.go(Phase::mend_copy);
}

// A process that finds the newest commit for the first time starts beside no such object.
bool may_pass(Parts const& p)
{
    return p.mending.back == Phase::join_check || p.mending.back == Phase::commit_check;
}

// Lists the commits again, to look for others beyond an object that is none.
void pass_foreign(Parts& p, CommitNumber number)
{
    p.mending.passed += one(number);
    p.known.forget(number);
    p.machine.go(p.mending.back == Phase::join_check ? Phase::join_list : Phase::commit_list);
}

// An object far beyond the newest commit need not be one: no member stops because of it before the
// chain has got there. But no process starts beside it.
void invalid_successor(Parts& p, Digest const& object, Error const& error)
{
    bool const beyond = p.chain.tip() && p.mending.last > p.chain.tip()->number;
    if (!beyond || !may_pass(p)) return handle_invalid_record(p, foreign_commit(error));
    if (!stays_invalid(p, error)) return p.machine.retry(p.machine.phase());
    p.failures.bad_reads = 0;
    auto const number = p.mending.last.next();
    p.mending.foreign[number] = object;
    p.machine.send(foreign_commit_note(number));
    pass_foreign(p, number);
}

// The highest of the lost commits that are left is in the store.
void created_again(Parts& p)
{
    auto& m = p.mending;
    m.copies.erase(std::prev(m.copies.end()));
    if (!m.copies.empty()) return p.machine.go(Phase::mend_create);
    p.machine.send(commits_restored_note(m.first, m.last));
    m.due = m.back == Phase::run;
    p.machine.go(m.back);
}

}  // namespace

void begin_mend(Parts& p, Ranges const& missing, Phase back)
{
    auto const& highest = missing.list().back();
    p.mending.back = back;
    p.mending.missing = missing;
    p.mending.first = {highest.begin};
    p.mending.last = {highest.end - 1};
    bool const tip = p.chain.tip() && p.mending.last == p.chain.tip()->number;
    if (tip) read_copies(p, p.chain.tip_sha256());
    else p.machine.go(Phase::mend_successor);
}

bool attend_lost_commits(Parts& p)
{
    if (!p.mending.due) return false;
    p.mending.due = false;
    p.mending.back = Phase::run;
    p.machine.switch_to(Phase::mend_list);
    return true;
}

// Older commits than these are no concern of a member; a starting process looks at all.
void act_mend_list(Parts& p)
{
    constexpr std::int64_t newest = 1'000;
    auto const tip = p.chain.tip()->number.value;
    p.machine.send(List{p.machine.ask(Question::list), {std::max<std::int64_t>(0, tip - newest)}});
}

void answered_mend_list(Parts& p, Input const& input)
{
    auto const back = p.mending.back;
    auto const* listed = std::get_if<Listed>(&input);
    if (listed == nullptr) return back == Phase::run ? p.machine.go(back) : p.machine.retry(back);
    auto const tip = p.chain.tip()->number.value;
    auto const missing = Ranges::between(listed->after.value + 1, tip + 1) - listed->numbers;
    if (missing.empty()) return p.machine.switch_to(back);
    begin_mend(p, missing, back);
}

void act_mend_successor(Parts& p) { p.machine.get(commit_name(p.mending.last.next())); }

void answered_mend_successor(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    auto const name = commit_name(p.mending.last.next());
    if (got == nullptr) return cannot_mend(p);
    auto const object = sha256(got->bytes);
    auto const known = p.mending.foreign.find(p.mending.last.next());
    if (may_pass(p) && known != p.mending.foreign.end() && known->second == object)
        return pass_foreign(p, known->first);
    auto const commit = p.config.decoder->commit(got->bytes, name);
    if (!commit) return invalid_successor(p, object, commit.error());
    if (commit->run != p.chain.run().run) return invalid_successor(p, object, other_run(name));
    p.failures.bad_reads = 0;
    p.known.raise(commit->number, "this site has read");
    read_copies(p, commit->parent);
}

void act_mend_copy(Parts& p)
{
    p.machine.send(
        GetCopy{p.machine.ask(Question::copy), commit_name(p.mending.number), p.mending.sha256});
}

void answered_mend_copy(Parts& p, Input const& input)
{
    auto& m = p.mending;
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr || sha256(got->bytes) != m.sha256) return cannot_mend(p);
    m.sha256 = p.config.decoder->commit(got->bytes, commit_name(m.number)).value().parent;
    m.copies[m.number] = got->bytes;
    if (m.number > m.first) {
        m.number = {m.number.value - 1};
        return p.machine.go(Phase::mend_copy);
    }
    p.machine.go(m.first.value > 1 ? Phase::mend_below : Phase::mend_create);
}

// The commit below the lost ones shows whether the copies belong to the chain in the store.
void act_mend_below(Parts& p) { p.machine.get(commit_name({p.mending.first.value - 1})); }

void answered_mend_below(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return cannot_mend(p);
    if (sha256(got->bytes) != p.mending.sha256)
        return handle_invalid_record(p, other_history({p.mending.first.value - 1}));
    p.failures.bad_reads = 0;
    p.machine.go(Phase::mend_create);
}

// The highest comes first: until all are there, a starting process sees that some are missing.
void act_mend_create(Parts& p)
{
    auto const& [number, bytes] = *p.mending.copies.rbegin();
    p.machine.create(commit_name(number), bytes);
}

void answered_mend_create(Parts& p, Input const& input)
{
    auto& m = p.mending;
    if (std::holds_alternative<Unknown>(input)) {
        if (m.back == Phase::run && p.machine.tries() >= tries_limit) return cannot_mend(p);
        return p.machine.retry(Phase::mend_create);
    }
    if (std::holds_alternative<Exists>(input)) return p.machine.switch_to(Phase::mend_read);
    created_again(p);
}

void act_mend_read(Parts& p) { p.machine.get(commit_name(p.mending.copies.rbegin()->first)); }

// Another site may have created the same commit again. Or it goes on from an older copy of the
// store, and has given the number to another commit since this process has read the one below.
void answered_mend_read(Parts& p, Input const& input)
{
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return cannot_mend(p);
    auto const& [number, bytes] = *p.mending.copies.rbegin();
    if (got->bytes != bytes) return handle_invalid_record(p, other_history(number));
    p.failures.bad_reads = 0;
    created_again(p);
}

void act_check_tip(Parts& p) { p.machine.get(commit_name(p.chain.tip()->number)); }

void answered_check_tip(Parts& p, Input const& input)
{
    bool const joins = p.machine.phase() == Phase::join_check;
    if (auto const* got = std::get_if<Got>(&input)) {
        if (sha256(got->bytes) != p.chain.tip_sha256())
            return handle_invalid_record(p, other_history(p.chain.tip()->number));
        p.failures.bad_reads = 0;
        p.mending.passed = {};
        return p.machine.switch_to(joins ? Phase::join_list : Phase::commit_list);
    }
    if (std::holds_alternative<Unknown>(input)) return check_failed(p);
    p.mending.back = p.machine.phase();
    p.machine.switch_to(Phase::mend_list);
}

void act_check_end(Parts& p)
{
    p.machine.send(List{p.machine.ask(Question::list), p.chain.tip()->number});
}

void answered_check_end(Parts& p, Input const& input)
{
    bool const joins = p.machine.phase() == Phase::join_list;
    auto const* listed = std::get_if<Listed>(&input);
    if (listed == nullptr) return check_failed(p);
    auto const next = p.chain.tip()->number.next();
    auto const numbers = listed->numbers - p.mending.passed;
    p.known.list(numbers, p.failures.misses >= old_after_misses);
    bool const lost = p.known.greatest() >= next && !listed->numbers.contains(one(next));
    if (!lost) {
        p.failures.misses = 0;
        return p.machine.switch_to(joins ? Phase::join_create : Phase::commit_create);
    }
    auto const beyond = numbers.empty() ? next.next().value : numbers.list().front().begin;
    begin_mend(p, Ranges::between(next.value, beyond),
               joins ? Phase::join_check : Phase::commit_check);
}

}  // namespace curtail::protocol::site
