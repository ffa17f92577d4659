// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "rounds/site/steps.hpp"

namespace curtail::rounds::site {

bool exited(Parts const& p) { return p.phase == Phase::exited; }

std::vector<Output> on(Parts& p, MonoTime now, Input const& input)
{
    p.out.clear();
    if (exited(p)) return {};
    p.now = std::max(p.now, now);
    std::visit(
        [&](auto const& in) {
            using T = std::decay_t<decltype(in)>;
            if constexpr (std::is_same_v<T, Stepped>) stepped(p, in);
            else if constexpr (std::is_same_v<T, StopRequested>) stop_requested(p, in);
            else if constexpr (!std::is_same_v<T, Tick>) accept(p, in.op, input);
        },
        input);
    settle(p);
    return std::move(p.out);
}

void stop_requested(Parts& p, StopRequested const& stop)
{
    p.deadline = std::min(stop.deadline, p.deadline.value_or(stop.deadline));
    p.not_before = p.now;
}

void settle(Parts& p)
{
    if (p.deadline && p.now >= *p.deadline && !exited(p)) out_of_time(p);
    p.wake = p.deadline;
    while (!p.open && !exited(p)) {
        if (p.deadline && row(p).early) finish(p, ExitCode::ok);
        else if (!reached(p, p.not_before) || !row(p).act(p)) break;
        p.wake = p.open ? p.deadline : p.wake;
    }
    if (exited(p)) p.wake.reset();
}

/// At the deadline. A contribution whose header is in the store is safe: the next merge decides it.
void out_of_time(Parts& p)
{
    std::int64_t tokens = p.since.count() * p.run.params.block_tokens;
    for (auto const& own : p.undecided)
        if (!own.published) tokens += own.header.tokens;
    if (tokens == 0 || p.removal == Removal::left) return finish(p, ExitCode::ok);
    bool const sent = p.lone_sent && p.draft && p.draft->encoded.sha256 == *p.lone_sent;
    auto const work = std::to_string(tokens) + " tokens";
    finish(
        p, ExitCode::unavailable,
        Error{ExitCode::unavailable, "cannot leave the run by the deadline",
              sent ? "no answer from the store about commit " +
                         std::to_string(p.draft->commit.number.value) + " with the last " + work
                   : "the store accepted the last " + work +
                         " neither as a commit nor as a contribution",
              sent ? "check with `curtail-status` that the commit exists; otherwise its blocks are "
                     "trained again"
                   : "no action needed: this work is lost and its blocks are trained again"});
}

bool fits(Parts const& p, Input const& input)
{
    auto const is = [&]<class... T>() { return (std::holds_alternative<T>(input) || ...); };
    switch (p.open->question) {
        case Question::get:
            return is.operator()<Got, Missing, Unknown>();
        case Question::create:
            return is.operator()<Created, Exists, Unknown>();
        case Question::store:
            return is.operator()<Stored, Unavailable>();
        case Question::merge:
            return is.operator()<Merged, Corrupt, Unavailable>();
        case Question::load:
            return is.operator()<Loaded, Corrupt, Unavailable>();
        case Question::adopt:
            return is.operator()<Adopted, Corrupt, Unavailable>();
        case Question::cut:
            return is.operator()<CutReady>();
    }
    __builtin_unreachable();
}

void accept(Parts& p, Op op, Input const& input)
{
    if (!p.open || p.open->op != op)
        throw std::logic_error("answer to a question that is not open");
    if (!fits(p, input)) throw std::logic_error("answer does not match the open question");
    p.open.reset();
    if (refused_at_start(p, input)) return;
    auto const answered = row(p).answered;
    if (answered == nullptr) throw std::logic_error("answer in a phase without questions");
    answered(p, input);
}

/// A process that is not yet a member has no work to lose. It exits if the store stays read-only,
/// forbidden, full or unreachable. A single unreadable header does not count. True if it exits.
bool refused_at_start(Parts& p, Input const& input)
{
    auto const* unknown = std::get_if<Unknown>(&input);
    auto const* unavailable = std::get_if<Unavailable>(&input);
    if (std::holds_alternative<Created>(input) || std::holds_alternative<Exists>(input) ||
        std::holds_alternative<Stored>(input))
        p.refusals_at_start = 0;
    if (p.member || (unknown == nullptr && unavailable == nullptr)) return false;
    auto const code = unknown != nullptr ? unknown->code : unavailable->code;
    if (!lasting(code) && code != ExitCode::unavailable) return false;
    bool const header = p.phase == Phase::find_headers || p.phase == Phase::join_headers;
    if (header && lasting(code)) return false;
    constexpr int limit = 6;
    if (++p.refusals_at_start < limit) return false;
    finish(p, code,
           Error{code,
                 "cannot start with the run's store",
                 unknown != nullptr ? unknown->why : unavailable->why,
                 {}});
    return true;
}

bool act_next_commit(Parts& p)
{
    get(p, commit_name(p.tip->number.next()));
    return true;
}

void stepped(Parts& p, Stepped const& step)
{
    if (!p.loaded || !p.tip->find(*p.member)) return;
    if (!trainable(p).contains(step.blocks))
        throw std::logic_error("trained blocks without an order: " + step.blocks.to_string());
    p.since += step.blocks;
    ++p.steps_in_round;
    p.measured_blocks += static_cast<double>(step.blocks.count());
    p.measured_seconds += step.seconds.count();
    double const memory = 2 * FractionalSeconds(p.run.params.round_time).count();
    if (p.measured_seconds <= memory) return;
    p.measured_blocks /= 2;
    p.measured_seconds /= 2;
}

Op ask(Parts& p, Question question, std::string name)
{
    p.open = OpenQuestion{++p.last_op, question, std::move(name)};
    return p.last_op;
}

void get(Parts& p, std::string name)
{
    auto const op = ask(p, Question::get, name);
    p.out.emplace_back(Get{op, std::move(name)});
}

void create(Parts& p, std::string name, std::string bytes, bool want_time)
{
    auto const op = ask(p, Question::create, name);
    p.out.emplace_back(Create{op, std::move(name), std::move(bytes), want_time});
}

void go(Parts& p, Phase phase)
{
    p.phase = phase;
    p.tries = 0;
    p.not_before = p.now;
}

void retry(Parts& p, Phase phase)
{
    p.phase = phase;
    auto const longest = p.deadline ? Millis{1'000} : Millis{10'000};
    auto const pause = std::min(longest, Millis{50} * (1 << std::min(p.tries, 8)));
    ++p.tries;
    p.not_before = p.now + pause / 2 + jitter(p, pause);
}

bool reached(Parts& p, MonoTime t)
{
    if (p.now >= t) return true;
    p.wake = std::min(t, p.wake.value_or(t));
    return false;
}

Millis jitter(Parts& p, Millis most)
{
    p.random = p.random * 6364136223846793005ULL + 1442695040888963407ULL;
    return Millis{
        static_cast<std::int64_t>((p.random >> 33) % static_cast<std::uint64_t>(most.count() + 1))};
}

void note(Parts& p, std::string type, json::Object details)
{
    p.out.emplace_back(Note{std::move(type), std::move(details)});
}

void finish(Parts& p, ExitCode code, std::optional<Error> error)
{
    if (p.member && p.tip)
        note(p, "left", json::Object{{"member", p.member->value}, {"commit", p.tip->number.value}});
    abandon_payloads(p);
    p.out.emplace_back(Exit{code, std::move(error)});
    p.phase = Phase::exited;
    p.open.reset();
}

void refuse(Parts& p, Error error)
{
    if (++p.bad_reads < reads_limit) return retry(p, p.phase);
    auto const code = error.code;
    finish(p, code, std::move(error));
}

Time store_now(Parts const& p) { return Time{p.now.time_since_epoch() + p.store_offset}; }

MemberId writer(Parts const& p) { return p.member ? *p.member : member_id(p.config.process, {0}); }

std::vector<Target> targets(Parts const& p, Round round, std::string (*part_name)(std::string_view))
{
    std::vector<Target> list;
    for (auto const& part : p.run.parts) {
        auto const name = part_name(part.name);
        list.push_back({name, model_name(round, writer(p), p.attempt, name)});
    }
    return list;
}

Rate rate(Parts const& p)
{
    if (p.measured_seconds <= 0) return p.config.rate;
    return static_cast<Rate>(1e6 * p.measured_blocks / p.measured_seconds);
}

}  // namespace curtail::rounds::site
