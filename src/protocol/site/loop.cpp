// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

namespace curtail::protocol::site {
namespace {

// The store's answer to a question that it has not carried out.
struct StoreFailure {
    ExitCode code;
    std::string const& why;
};
// Empty: the store has carried out the question.
std::optional<StoreFailure> failure_in(Input const& input)
{
    if (auto const* unknown = std::get_if<Unknown>(&input))
        return StoreFailure{unknown->code, unknown->why};
    if (auto const* unavailable = std::get_if<Unavailable>(&input))
        return StoreFailure{unavailable->code, unavailable->why};
    return std::nullopt;
}

// Returns false if the trainer's work was discarded. The work of a member that was removed counts
// as lost.
bool counts(Parts const& p, Ranges const& blocks, char const* what)
{
    if (!p.training.loaded()) return false;
    if (!p.chain.tip()->find(*p.member) || untrained(p).contains(blocks)) return true;
    throw std::logic_error(std::string(what) + " blocks without an order: " + blocks.to_string());
}

// The step was running when its member lost its place, or when the process decided to exit. So
// removed_note() could not count it.
void lose(Parts& p, std::optional<MemberId> const& member, Ranges const& blocks)
{
    auto const tokens = blocks.count() * p.chain.run().params.block_tokens;
    if (member) report_loss(p, lost_note(*member, tokens), tokens);
}

void stepped(Parts& p, Stepped const& step)
{
    if (!counts(p, step.blocks, "trained")) return lose(p, p.former, step.blocks);
    p.training.step(step.blocks);
    p.history.step(step.blocks, step.seconds, p.chain.run().params);
    p.pace.take_step(step.seconds);
}

// Skipped blocks leave gaps. If a header could list no more gaps, the trainer may continue with
// fewer blocks only. After a stop request, it trains on until the last cut.
void skipped(Parts& p, Skipped const& step)
{
    if (!counts(p, step.blocks, "skipped")) return;
    p.training.skip(step.blocks);
    bool const member = p.chain.tip()->find(*p.member) != nullptr;
    if (member && !p.training.paused() && trainable(p) != untrained(p)) send_order(p);
}

bool is_status_due(Parts& p)
{
    bool const in = p.member && p.chain.tip() && own_member(p) != nullptr;
    if (!in || p.machine.exited()) return false;
    return p.machine.reached(p.schedule.status);
}

// Returns what a question asks of the store. Returns an empty optional if the trainer
// or this machine answers it.
std::optional<StoreUse> use_of(Question question)
{
    switch (question) {
        case Question::cut:
        case Question::copy:
            return std::nullopt;
        case Question::create:
        case Question::store:
        case Question::merge:
        case Question::restore:
            return StoreUse::write;
        default:
            return StoreUse::read;
    }
}

// A process that is not yet a member has no work to lose. It exits if the store stays read-only,
// forbidden, full or unreachable. A single unreadable header or status does not count. True if it
// exits.
bool refused_at_start(Parts& p, Input const& input)
{
    auto const failure = failure_in(input);
    bool const reads = use_of(p.machine.last_question()) == StoreUse::read;
    auto& failures = reads ? p.failures.reads_at_start : p.failures.writes_at_start;
    if (!failure) failures = 0;
    if (p.member || !failure) return false;
    bool const one_object = is_lasting_error(failure->code);
    auto const phase = p.machine.phase();
    bool const header = phase == Phase::find_headers || phase == Phase::join_headers;
    if (!one_object && failure->code != ExitCode::unavailable) return false;
    if ((header && one_object) || phase == Phase::find_status) return false;
    constexpr int limit = 6;
    if (++failures < limit) return false;
    finish(p, Error{failure->code, "cannot start with the run's store", failure->why, {}});
    return true;
}

// True if the store refuses this site's credentials, or if there are none any more.
bool denies(std::optional<StoreFailure> const& failure)
{
    return failure &&
           (failure->code == ExitCode::permission || failure->code == ExitCode::no_input);
}

// True if a member has blocks that it can train without the store.
bool can_train(Parts const& p)
{
    bool const in = p.training.loaded() && p.chain.tip()->find(*p.member) != nullptr;
    return in && !p.contributions.leaving() && !trainable(p).empty();
}

// A member that has lost access to the store trains the blocks that it holds, and waits. Other
// members remove it after `drop_after` + `skew`. Then it exits, because its work can no longer
// count, and its job would keep machines for nothing. A lone member waits on. True if it exits.
bool denied_for_long(Parts& p, Input const& input)
{
    auto& since = p.failures.denied_since;
    auto const failure = failure_in(input);
    if (!denies(failure) && use_of(p.machine.last_question())) since.reset();
    if (!denies(failure) || !p.member) return false;
    if (!since) since = p.machine.now();
    auto const denied = p.machine.now() - *since;
    auto const& params = p.chain.run().params;
    bool const removed = denied >= params.drop_after + params.skew && !others(p).empty();
    if (!removed || can_train(p) || p.machine.stopping()) return false;
    auto const lost = unsaved_work(p).lost;
    auto const loss = lost == Tokens{} ? ""
                                       : "; the last " + std::to_string(lost.value) +
                                             " tokens are lost, and their blocks are trained again";
    finish(p, Error{ExitCode::permission,
                    "the run's store has refused access for " + format_duration(denied),
                    failure->why + loss,
                    "correct the credentials or rights of this site, then start it again"});
    return true;
}

// Tells the watch whether the store has answered. `use`: of the question.
void note_use(Parts& p, StoreUse use, Input const& input)
{
    auto const now = p.machine.now();
    auto const skew = p.chain.run().params.skew;
    if (failure_in(input)) return p.watch.failed(use, now, skew);
    // A full store also knows that an object exists.
    bool const wrote = use == StoreUse::write && !std::holds_alternative<Exists>(input);
    p.watch.answered(wrote ? StoreUse::write : StoreUse::read, now, skew);
}

void take_answer(Parts& p, Input const& input)
{
    if (refused_at_start(p, input) || denied_for_long(p, input)) return;
    auto const handler = row(p).answered;
    if (handler == nullptr) throw std::logic_error("answer in a phase without questions");
    auto const failure = failure_in(input);
    auto const use = use_of(p.machine.last_question());
    if (use) note_use(p, *use, input);
    bool const asks_for_record =
        p.machine.last_question() == Question::get || p.machine.last_question() == Question::list;
    if (failure && asks_for_record) p.pace.store_failed();
    if (use == StoreUse::write) p.failures.write_error = failure ? failure->why : "";
    handler(p, input);
    p.failures.unanswered = failure ? p.failures.unanswered + 1 : 0;
    train_through_outage(p);
}

void answered(Parts& p, Op op, Input const& input)
{
    if (!p.machine.accept(op, input)) return;
    auto const* created = std::get_if<Created>(&input);
    if (created != nullptr && created->stored_at) {
        auto const& machine = p.machine;
        auto const jump =
            p.store_clock.measure(*created->stored_at, machine.asked(), machine.now());
        if (jump) p.machine.send(clock_jump_note(*jump));
    }
    take_answer(p, input);
}

// True if something urgent waits for the open question, which has had its time. Otherwise makes a
// Tick due for when this may become true.
bool is_overdue(Parts& p)
{
    auto const urgent = row(p).urgent;
    return p.machine.asking() && urgent != nullptr && urgent(p) &&
           p.machine.reached(p.machine.asked() + patience);
}

// Before it joins, a process has no work. A commit may admit it while a stop request waits; a
// member leaves by a header.
bool leaves_at_once(Parts const& p)
{
    auto const phase = p.machine.phase();
    bool const mends = phase >= Phase::mend_list && phase <= Phase::mend_read;
    bool const early = phase < Phase::fold || phase == Phase::join_headers ||
                       phase == Phase::join_check || phase == Phase::join_list ||
                       phase == Phase::join_create || (mends && !p.member);
    bool const admitted = p.chain.tip() && own_member(p) != nullptr;
    return p.machine.stopping() && early && !admitted;
}

// Acts until a question is open or nothing is left to do before some time has passed.
void settle(Parts& p)
{
    auto& machine = p.machine;
    if (machine.out_of_time() && !machine.exited()) finish_and_report_loss(p);
    machine.reset_wake();
    if (is_status_due(p)) write_status(p);
    if (is_overdue(p)) {
        machine.abandon();
        take_answer(p, Unknown{0, "no answer in time"});
    }
    while (!machine.asking() && !machine.exited()) {
        if (leaves_at_once(p)) finish(p);
        else if (machine.paused() || !machine.moves([&] { row(p).act(p); })) break;
    }
    if (!machine.asking()) return;
    machine.reset_wake();
    (void)is_status_due(p);
    (void)is_overdue(p);
}

}  // namespace

void write_status(Parts& p)
{
    SiteStatus const status{*p.member, p.chain.tip()->number, store_now(p)};
    auto const interval = p.chain.run().params.status_interval;
    p.machine.send(
        Overwrite{status_name(p.config.process.site), encode(status).bytes, interval / 2});
    p.schedule.status = p.machine.now() + interval;
    (void)is_status_due(p);
}

std::vector<Output> on(Parts& p, MonoTime now, Input const& input)
{
    if (p.machine.exited()) {
        if (auto const* step = std::get_if<Stepped>(&input))
            lose(p, p.member ? p.member : p.former, step->blocks);
        return p.machine.take_outputs();
    }
    p.machine.begin(now);
    p.watch.input(p.machine.now(), p.chain.run().params.skew);
    std::visit(
        [&](auto const& in) {
            using T = std::decay_t<decltype(in)>;
            if constexpr (std::is_same_v<T, Stepped>) stepped(p, in);
            else if constexpr (std::is_same_v<T, Skipped>) {
                skipped(p, in);
            } else if constexpr (std::is_same_v<T, Published>) p.heads = in.heads;
            else if constexpr (std::is_same_v<T, StopRequested>) p.machine.stop(in);
            else if constexpr (!std::is_same_v<T, Tick>) answered(p, in.op, input);
        },
        input);
    settle(p);
    return p.machine.take_outputs();
}

void act_next_commit(Parts& p) { p.machine.get(commit_name(p.chain.tip()->number.next())); }

bool awaits(Parts& p, std::string const& name, std::string const& why)
{
    constexpr int soon = 4;  // an old answer is gone after them
    if (++p.failures.misses == soon) p.machine.send(record_awaited_note(name, why));
    return p.failures.misses < misses_limit;
}

Error foreign_commit(Error error)
{
    if (error.code == ExitCode::data) return error;  // use another version of Curtail
    error.remedy =
        "`curtail-store repair` at a site with copies creates a damaged commit again, and removes "
        "an object that is no commit of this run, after asking; otherwise start a new run from a "
        "commit before it with `curtail-store fork --commit`";
    return error;
}

bool stays_invalid(Parts& p, Error const& error)
{
    auto text = error.message();
    if (text != p.failures.bad_read) p.failures.bad_reads = 0;
    p.failures.bad_read = std::move(text);
    return ++p.failures.bad_reads >= reads_limit;
}

void handle_invalid_record(Parts& p, Error error)
{
    if (!stays_invalid(p, error)) return p.machine.retry(p.machine.phase());
    finish(p, std::move(error));
}

Time store_now(Parts const& p) { return p.store_clock.at(p.machine.now()); }

MemberId writer(Parts const& p) { return p.member ? *p.member : member_id(p.config.process, {0}); }

PayloadPlace payload_place(Parts const& p, Round round, char const* part)
{
    return {part, model_name(round, writer(p), p.attempt, part)};
}

Rate rate(Parts const& p) { return p.history.rate(p.config.rate); }

}  // namespace curtail::protocol::site
