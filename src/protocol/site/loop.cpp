// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

namespace curtail::rounds::site {
namespace {

// A store's lasting refusal; nothing in other answers.
struct StoreRefusal {
    ExitCode code;
    std::string why;
};
std::optional<StoreRefusal> lasting_refusal(Input const& input)
{
    auto const lasts = [](auto const* answer) {
        return answer != nullptr &&
               (is_lasting_error(answer->code) || answer->code == ExitCode::unavailable);
    };
    if (auto const* unknown = std::get_if<Unknown>(&input); lasts(unknown))
        return StoreRefusal{unknown->code, unknown->why};
    if (auto const* unavailable = std::get_if<Unavailable>(&input); lasts(unavailable))
        return StoreRefusal{unavailable->code, unavailable->why};
    return std::nullopt;
}

bool is_failure(Input const& input)
{
    return std::holds_alternative<Unknown>(input) || std::holds_alternative<Unavailable>(input);
}

void stepped(Parts& p, Stepped const& step)
{
    if (!p.training.loaded() || !p.chain.tip()->find(*p.member)) return;
    if (!trainable(p).contains(step.blocks))
        throw std::logic_error("trained blocks without an order: " + step.blocks.to_string());
    p.training.step(step.blocks);
    p.history.step(step.blocks, step.seconds, p.chain.run().params);
}

void skipped(Parts& p, Skipped const& skip)
{
    if (!p.training.loaded() || !p.chain.tip()->find(*p.member)) return;
    if (!trainable(p).contains(skip.blocks))
        throw std::logic_error("skipped blocks without an order: " + skip.blocks.to_string());
    p.training.skip(skip.blocks);
}

bool is_status_due(Parts& p)
{
    bool const in = p.member && p.chain.tip() && own_member(p) != nullptr;
    if (!in || p.machine.exited()) return false;
    return p.machine.reached(p.schedule.status);
}

// Shows starting processes that this member is alive.
void write_status(Parts& p)
{
    SiteStatus const status{*p.member, p.chain.tip()->number, store_now(p)};
    auto const interval = p.chain.run().params.status_interval;
    p.machine.send(
        Overwrite{status_name(p.config.process.site), encode(status).bytes, interval / 2});
    p.schedule.status = p.machine.now() + interval;
    (void)is_status_due(p);
}

// The work that neither a commit nor a header in the store has.
Tokens unstored_tokens(Parts const& p)
{
    return p.training.since().count() * p.chain.run().params.block_tokens +
           p.contributions.unpublished_tokens();
}

// A process that is not yet a member has no work to lose. It exits if the store stays read-only,
// forbidden, full or unreachable. A single unreadable header or status does not count. True if it
// exits.
bool refused_at_start(Parts& p, Input const& input)
{
    auto const refusal = lasting_refusal(input);
    bool const reads = p.machine.last_question() == Question::get;
    auto& failures = reads ? p.failures.reads_at_start : p.failures.writes_at_start;
    if (!refusal && !is_failure(input)) failures = 0;
    if (p.member || !refusal) return false;
    auto const phase = p.machine.phase();
    bool const header = phase == Phase::find_headers || phase == Phase::join_headers;
    if ((header && is_lasting_error(refusal->code)) || phase == Phase::find_status) return false;
    constexpr int limit = 6;
    if (++failures < limit) return false;
    finish(p, refusal->code,
           Error{refusal->code, "cannot start with the run's store", refusal->why, {}});
    return true;
}

// True if a member has blocks that it can train without the store.
bool can_train(Parts const& p)
{
    bool const in = p.training.loaded() && p.chain.tip()->find(*p.member) != nullptr;
    return in && !p.contributions.leaving() && !trainable(p).empty();
}

// Why the store gives this site no access: it refuses the credentials, or there are none any more.
// Null: nothing in the answer says so.
std::string const* denial(Input const& input)
{
    auto const denies = [](auto const* answer) {
        return answer != nullptr &&
               (answer->code == ExitCode::permission || answer->code == ExitCode::no_input);
    };
    if (auto const* unknown = std::get_if<Unknown>(&input); denies(unknown)) return &unknown->why;
    auto const* unavailable = std::get_if<Unavailable>(&input);
    return denies(unavailable) ? &unavailable->why : nullptr;
}

// A member that has lost access to the store trains the blocks that it holds, and waits. Other
// members remove it after `drop_after` + `skew`. Then it exits, because its work can no longer
// count, and its job would keep machines for nothing. A lone member waits on. True if it exits.
bool denied_for_long(Parts& p, Input const& input)
{
    auto& since = p.failures.denied_since;
    auto const* const why = denial(input);
    // The trainer answers a cut, not the store.
    if (why == nullptr && p.machine.last_question() != Question::cut) since.reset();
    if (why == nullptr || !p.member) return false;
    if (!since) since = p.machine.now();
    auto const denied = p.machine.now() - *since;
    auto const& params = p.chain.run().params;
    bool const removed = denied >= params.drop_after + params.skew && !others(p).empty();
    if (!removed || can_train(p) || p.machine.stopping()) return false;
    auto const lost = unstored_tokens(p);
    auto const loss = lost == Tokens{} ? ""
                                       : "; the last " + std::to_string(lost.value) +
                                             " tokens are lost, and their blocks are trained again";
    finish(p, ExitCode::permission,
           Error{ExitCode::permission,
                 "the run's store has refused access for " + format_duration(denied), *why + loss,
                 "correct the credentials or rights of this site, then start it again"});
    return true;
}

void measure_store_clock(Parts& p, Created const& created)
{
    if (!created.stored_at) return;
    auto const jump = p.store_clock.measure(*created.stored_at, p.machine.asked(), p.machine.now());
    if (jump) p.machine.send(clock_jump_note(*jump));
}

// What a question asks of the store. Empty: nothing, because the trainer answers it.
std::optional<Access> access_of(Question question)
{
    switch (question) {
        case Question::cut:
            return std::nullopt;
        case Question::create:
        case Question::store:
        case Question::merge:
        case Question::restore:
            return Access::write;
        default:
            return Access::read;
    }
}

// Tells the watch whether the store has answered. `access`: of the question.
void note_access(Parts& p, Access access, Input const& input)
{
    auto const now = p.machine.now();
    auto const skew = p.chain.run().params.skew;
    if (is_failure(input)) return p.watch.failed(access, now, skew);
    // A full store also knows that an object exists.
    bool const wrote = access == Access::write && !std::holds_alternative<Exists>(input);
    p.watch.answered(wrote ? Access::write : Access::read, now, skew);
}

void take_answer(Parts& p, Input const& input)
{
    if (refused_at_start(p, input) || denied_for_long(p, input)) return;
    auto const handler = row(p).answered;
    if (handler == nullptr) throw std::logic_error("answer in a phase without questions");
    if (auto const access = access_of(p.machine.last_question())) note_access(p, *access, input);
    handler(p, input);
    p.failures.unanswered = is_failure(input) ? p.failures.unanswered + 1 : 0;
    train_through_outage(p);
}

void answered(Parts& p, Op op, Input const& input)
{
    if (!p.machine.accept(op, input)) return;
    if (auto const* created = std::get_if<Created>(&input)) measure_store_clock(p, *created);
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

// A commit may admit this process while a stop request waits. A member leaves by a header.
bool leaves_at_once(Parts const& p)
{
    bool const admitted = p.chain.tip() && own_member(p) != nullptr;
    return p.machine.stopping() && row(p).early && !admitted;
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
        if (leaves_at_once(p)) finish(p, ExitCode::ok);
        else if (machine.paused() || !row(p).act(p)) break;
    }
    if (!machine.asking()) return;
    machine.reset_wake();
    (void)is_status_due(p);
    (void)is_overdue(p);
}

}  // namespace

// A contribution whose header is in the store is safe: the next merge decides it.
void finish_and_report_loss(Parts& p)
{
    auto const tokens = unstored_tokens(p);
    if (tokens == Tokens{} || p.removal == Removal::left) return finish(p, ExitCode::ok);
    bool const sent = p.proposal.draft_is_lone();
    auto const work = std::to_string(tokens.value) + " tokens";
    finish(
        p, ExitCode::unavailable,
        Error{ExitCode::unavailable, "cannot leave the run in time",
              sent ? "no answer from the store about commit " +
                         std::to_string(p.proposal.draft()->commit.number.value) +
                         " with the last " + work
                   : "the store accepted the last " + work +
                         " neither as a commit nor as a contribution",
              sent ? "check with `curtail-status` that the commit exists; otherwise its blocks are "
                     "trained again"
                   : "check that the store has space and answers; this work is lost, and its "
                     "blocks are trained again"});
}

std::vector<Output> on(Parts& p, MonoTime now, Input const& input)
{
    if (p.machine.exited()) return {};
    p.machine.begin(now);
    p.watch.input(p.machine.now(), p.chain.run().params.skew);
    std::visit(
        [&](auto const& in) {
            using T = std::decay_t<decltype(in)>;
            if constexpr (std::is_same_v<T, Stepped>) stepped(p, in);
            else if constexpr (std::is_same_v<T, Skipped>) skipped(p, in);
            else if constexpr (std::is_same_v<T, StopRequested>) p.machine.stop(in);
            else if constexpr (!std::is_same_v<T, Tick>) answered(p, in.op, input);
        },
        input);
    settle(p);
    return p.machine.take_outputs();
}

bool act_next_commit(Parts& p)
{
    p.machine.get(commit_name(p.chain.tip()->number.next()));
    return true;
}

void finish(Parts& p, ExitCode code, std::optional<Error> error)
{
    if (p.member && p.chain.tip()) p.machine.send(left_note(*p.member, p.chain.tip()->number));
    p.payloads.abandon(p.machine);
    p.machine.exit(code, std::move(error));
}

void handle_invalid_record(Parts& p, Error error)
{
    if (++p.failures.bad_reads < reads_limit) return p.machine.retry(p.machine.phase());
    auto const code = error.code;
    finish(p, code, std::move(error));
}

Time store_now(Parts const& p) { return p.store_clock.at(p.machine.now()); }

MemberId writer(Parts const& p) { return p.member ? *p.member : member_id(p.config.process, {0}); }

Target target(Parts const& p, Round round, char const* part)
{
    return {part, model_name(round, writer(p), p.attempt, part)};
}

Rate rate(Parts const& p) { return p.history.rate(p.config.rate); }

}  // namespace curtail::rounds::site
