// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "protocol/site/notes.hpp"
#include "protocol/site/steps.hpp"

// REPAIR: a model, or its momentum, that cannot be read.
namespace curtail::protocol::site {
namespace {

// The part with this name of an object, or else of a part.
std::optional<PartRef> find_part(Commit const& tip, std::string const& name)
{
    for (auto const& part : tip.payloads())
        if (part.name == name || part.part == name) return part;
    return std::nullopt;
}

Millis request_interval(Params const& params)
{
    return std::min<Millis>(Seconds{60}, params.repair_wait / 2);
}

// With the default time for repairs, this is 10 s.
Millis short_wait(Params const& params) { return params.repair_wait / 12; }

Repairs& repairs_now(Parts& p)
{
    p.repairs.begin(p.chain.tip()->round);
    return p.repairs;
}

std::string what_to_do(Parts const& p, std::string const& part)
{
    auto const& tip = *p.chain.tip();
    auto const number = std::to_string(tip.number.value);
    auto const made = commit_of_model(tip);
    std::string text = "the chain is valid up to commit " + number +
                       "; a site that rests may have a copy of the object and stores it again when "
                       "it starts, or with `curtail-store repair`";
    std::optional<CommitNumber> older;
    for (auto const& merge : tip.recent)
        if (merge.number < made) older = merge.number;
    if (tip.outer && part == momentum_part)
        text += "; `curtail-store amend --zero-momentum` continues without the momentum";
    if (older)
        text += "; `curtail-store fork` begins a new run, for example from commit " +
                std::to_string(older->value) + ", the newest with another model";
    return text;
}

// Lets the phase that needs the part try again.
void read_again(Parts& p)
{
    auto const pause = short_wait(p.chain.run().params);
    p.machine.go(p.repairs.need->back);
    p.machine.pause_until(p.machine.now() + pause);
}

void end_service(Parts& p)
{
    p.machine.switch_to(p.repairs.service->back);
    p.repairs.service.reset();
    p.repairs.serving = false;
}

void begin_recompute(Parts& p)
{
    p.repairs.current().recompute_tried = true;
    p.repairs.sources = {};
    p.machine.switch_to(Phase::repair_made);
}

// What a site does about its own need: it looks for a copy on its machine, asks the other sites,
// computes the part once more, and reads it again.
void continue_need(Parts& p)
{
    auto& need = *p.repairs.need;
    if (p.machine.stopping()) p.machine.go(need.back);
    else if (!need.copies_tried) p.machine.go(Phase::repair_restore);
    else if (p.machine.now() >= need.request) p.machine.go(Phase::repair_request);
    else if (!need.recompute_tried) begin_recompute(p);
    else read_again(p);
}

}  // namespace

CommitNumber commit_of_model(Commit const& tip)
{
    return tip.kind == Commit::Kind::roster ? tip.recent.back().number : tip.number;
}

void keep_model(Parts& p) { p.machine.send(Keep{p.chain.tip()->payloads()}); }

void begin_repair(Parts& p, Corrupt const& corrupt, Phase back)
{
    auto& repairs = repairs_now(p);
    auto const part = find_part(*p.chain.tip(), corrupt.name);
    if (!part) throw std::logic_error("not a part of the newest model: " + corrupt.name);
    if (p.machine.stopping()) {
        if (back == Phase::merge) p.machine.go(back);
        else leave(p);
        return;
    }
    if (!repairs.need || repairs.need->parts.front() != *part) {
        NeededRepair need;
        need.parts = {*part};
        need.until = p.machine.now() + p.chain.run().params.repair_wait;
        repairs.need = std::move(need);
    }
    repairs.need->why = corrupt.why;
    repairs.need->back = back;
    repairs.serving = false;
    p.machine.go(Phase::repair_forward);
}

// A newer commit may name another model. The damaged one is then of no use.
void answered_repair_forward(Parts& p, Input const& input)
{
    auto& need = *p.repairs.need;
    auto const* got = std::get_if<Got>(&input);
    need.no_newer = std::holds_alternative<Missing>(input) ? need.no_newer + 1 : 0;
    if (need.no_newer > 0) p.pace.model_is_lost();
    // A single answer may be stale.
    bool const newest = need.no_newer >= tries_limit;
    if (got == nullptr && newest && p.machine.now() >= need.until) {
        auto const& part = need.parts.front();
        return finish(p, Error{ExitCode::temporary,
                               "cannot read the model of commit " +
                                   std::to_string(p.chain.tip()->number.value),
                               part.name + ": " + need.why, what_to_do(p, part.part)});
    }
    if (got == nullptr) return continue_need(p);
    if (!take_next(p, got->bytes)) return;
    if (p.repairs.need->back == Phase::merge) p.schedule.back = Phase::run;
    auto const forward = p.training.loaded() ? Phase::adopt_forward : Phase::base_forward;
    p.machine.go(p.member ? forward : Phase::find_commit);
}

void act_repair_restore(Parts& p)
{
    auto& repair = p.repairs.current();
    bool const limited = p.repairs.serving && p.repairs.stored >= stores_limit;
    repair.copies_tried = true;
    if (p.machine.stopping() || limited) {
        if (p.repairs.serving) end_service(p);
        else continue_need(p);
        return;
    }
    p.machine.send(Restore{p.machine.ask(Question::restore), repair.parts, std::nullopt});
}

void answered_repair_restore(Parts& p, Input const& input)
{
    if (auto const* restored = std::get_if<Restored>(&input)) {
        bool const whole = restored->damaged.empty();
        if (!restored->stored.empty()) p.machine.send(repaired_note(restored->stored));
        if (!p.repairs.serving)
            return whole ? p.machine.go(p.repairs.need->back) : continue_need(p);
        if (!restored->stored.empty()) ++p.repairs.stored;
        return whole || p.repairs.service->tried() ? end_service(p) : begin_recompute(p);
    }
    if (p.repairs.serving) return end_service(p);
    // The store failed, so the next attempt may succeed.
    auto& need = *p.repairs.need;
    bool const copies = p.machine.phase() == Phase::repair_restore;
    (copies ? need.copies_tried : need.recompute_tried) = false;
    read_again(p);
}

void act_repair_request(Parts& p)
{
    RepairRequest const request{.round = p.repairs.round,
                                .number = p.repairs.number,
                                .site = p.config.process.site,
                                .parts = {p.repairs.need->parts.front().part},
                                .time = store_now(p)};
    p.machine.create(repair_name(request.round, request.number), encode(request).bytes);
}

void answered_repair_request(Parts& p, Input const& input)
{
    auto& repairs = p.repairs;
    auto const& params = p.chain.run().params;
    if (std::holds_alternative<Exists>(input)) {
        ++repairs.number;
        return p.machine.go(Phase::repair_request);
    }
    bool const created = std::holds_alternative<Created>(input);
    repairs.need->request =
        p.machine.now() + (created ? request_interval(params) : short_wait(params));
    if (created) {
        p.machine.send(repair_requested_note(repairs.need->parts.front().name, repairs.number));
        ++repairs.number;
    }
    continue_need(p);
}

void recompute_ended(Parts& p)
{
    if (p.repairs.serving) end_service(p);
    else continue_need(p);
}

void look_for_repairs_soon(Parts& p)
{
    p.repairs.look = p.machine.now() + p.machine.jitter(short_wait(p.chain.run().params));
}

bool attend_repairs(Parts& p)
{
    auto& repairs = repairs_now(p);
    auto const back = p.machine.phase();
    if (repairs.service && p.machine.reached(repairs.service->at)) {
        repairs.service->back = back;
        repairs.serving = true;
        p.machine.switch_to(Phase::repair_restore);
        return true;
    }
    if (!p.machine.reached(repairs.look)) return false;
    repairs.back = back;
    p.machine.switch_to(Phase::repair_look);
    return true;
}

void act_repair_look(Parts& p) { p.machine.get(repair_name(p.repairs.round, p.repairs.number)); }

void answered_repair_look(Parts& p, Input const& input)
{
    auto& repairs = p.repairs;
    auto const& params = p.chain.run().params;
    repairs.look = p.machine.now() + request_interval(params);
    p.machine.switch_to(repairs.back);
    auto const* got = std::get_if<Got>(&input);
    if (got == nullptr) return;
    auto const request = decode_repair(got->bytes, repair_name(repairs.round, repairs.number));
    ++repairs.number;
    if (!request) return;
    Service service;
    for (auto const& name : request->parts)
        if (auto part = find_part(*p.chain.tip(), name)) service.parts.push_back(std::move(*part));
    if (service.parts.empty()) return;
    service.at = p.machine.now() + p.machine.jitter(short_wait(params));
    repairs.service = std::move(service);
}

}  // namespace curtail::protocol::site
