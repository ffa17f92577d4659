// SPDX-License-Identifier: Apache-2.0
#include "train/round_executor.hpp"

#include <stdexcept>
#include <thread>
#include <utility>

#include "core/clock.hpp"
#include "rounds/notes.hpp"

namespace curtail::train {
namespace {

// Errands answer no question. Their numbers in the table are those that no question ever has.
constexpr rounds::Op first_errand = rounds::Op{1} << 63;

}  // namespace

RoundExecutor::RoundExecutor(Parts parts, std::function<void()> notify)
    : parts_(std::move(parts)), work_(parts_.store, parts_.layout), operations_(std::move(notify))
{
}

void RoundExecutor::carry_out(rounds::Output const& output)
{
    std::visit([this](auto const& what) { act(what); }, output);
}

std::vector<rounds::Input> RoundExecutor::take_answers()
{
    std::vector<rounds::Input> answers;
    for (auto const& finish : operations_.take_ended())
        if (auto answer = finish()) answers.push_back(std::move(*answer));
    return answers;
}

void RoundExecutor::finish_errands()
{
    auto const end = monotonic_now() + Seconds{1};
    while (operations_.runs_any_from(first_errand) && monotonic_now() < end) {
        (void)operations_.take_ended();
        std::this_thread::sleep_for(Millis{1});
    }
}

template <class Failure>
rounds::Input RoundExecutor::failed(rounds::Op op, Error const& error)
{
    if (error.why != last_reason_) parts_.log.warning(error.message() + "; retrying");
    last_reason_ = error.why;
    return Failure{op, error.message(), error.code};
}

template <class Failure>
OperationTable::Finish RoundExecutor::late(rounds::Op op, Millis limit)
{
    return [this, op, limit]() -> Answer {
        auto const why = operations_.abandoned() >= OperationTable::most_abandoned
                             ? std::string("earlier operations still wait for it")
                             : "no answer within " + format_duration(limit);
        return failed<Failure>(op, {ExitCode::temporary, "the store does not answer", why, {}});
    };
}

rounds::Input RoundExecutor::translate(LoopEvent event)
{
    if (auto* made = std::get_if<CutMade>(&event)) {
        deltas_[made->seq] = made->values.delta;
        anchor_ = made->values.anchor;
        return rounds::CutReady{
            made->op,           made->blocks.ranges,           made->blocks.skipped,
            made->blocks.steps, {made->values.sum_of_squares}, {made->values.nonfinite}};
    }
    if (std::holds_alternative<rounds::Adopted>(event) ||
        std::holds_alternative<rounds::Loaded>(event))
        write_copies();
    return std::visit(
        []<class Message>(Message&& message) -> rounds::Input {
            if constexpr (std::is_same_v<std::decay_t<Message>, CutMade>)
                throw std::logic_error("handled above");
            else return std::forward<Message>(message);
        },
        std::move(event));
}

void RoundExecutor::act(rounds::Get const& get)
{
    auto const work = [this, work = work_, get](Call const& call) -> OperationTable::Finish {
        return [this, get, answer = work.get(get, call)]() -> Answer {
            return answer ? *answer : failed<rounds::Unknown>(get.op, answer.error());
        };
    };
    operations_.start(get.op, parts_.limits.record, work,
                      late<rounds::Unknown>(get.op, parts_.limits.record));
}

void RoundExecutor::act(rounds::Create const& create)
{
    auto const work = [this, work = work_, create](Call const& call) -> OperationTable::Finish {
        return [this, op = create.op, answer = work.create(create, call)]() -> Answer {
            return answer ? *answer : failed<rounds::Unknown>(op, answer.error());
        };
    };
    operations_.start(create.op, parts_.limits.record, work,
                      late<rounds::Unknown>(create.op, parts_.limits.record));
}

void RoundExecutor::start_errand(Millis limit, OperationTable::Work work)
{
    operations_.start(first_errand + errands_++, limit, std::move(work),
                      []() -> Answer { return std::nullopt; });
}

void RoundExecutor::write_copies()
{
    for (auto& [name, payload] : std::exchange(to_keep_, {}))
        write_copy(payload.part, std::move(payload.values));
}

void RoundExecutor::write_copy(rounds::PartRef const& part, Values values)
{
    if (!parts_.kept) return;
    start_errand(parts_.limits.payload,
                 [this, part, values = std::move(values), kept = parts_.kept,
                  work = work_](Call const&) -> OperationTable::Finish {
                     auto const encoded = payload::encode(work.layout(), part.part, *values);
                     return [this, done = kept->keep(part, encoded.pieces())]() -> Answer {
                         if (!done) parts_.log.warning(done.error().message());
                         return std::nullopt;
                     };
                 });
}

void RoundExecutor::act(rounds::Overwrite const& overwrite)
{
    // While the store does not answer, one write of the name is enough.
    if (!overwriting_.insert(overwrite.name).second) return;
    auto const late = [this, name = overwrite.name]() -> Answer {
        overwriting_.erase(name);
        return std::nullopt;
    };
    auto const work = [this, overwrite, late,
                       work = work_](Call const& call) -> OperationTable::Finish {
        return [this, late, stored = work.overwrite(overwrite, call)]() -> Answer {
            if (!stored && stored.error().why != last_reason_)
                parts_.log.warning(stored.error().message());
            if (!stored) last_reason_ = stored.error().why;
            return late();
        };
    };
    auto const limit = std::min(parts_.limits.record, overwrite.limit);
    operations_.start(first_errand + errands_++, limit, work, late);
}

void RoundExecutor::act(rounds::Keep const& keep)
{
    if (!parts_.kept) return;
    start_errand(parts_.limits.record,
                 [keep, kept = parts_.kept](Call const&) -> OperationTable::Finish {
                     kept->keep_only(keep.parts);
                     return []() -> Answer { return std::nullopt; };
                 });
}

void RoundExecutor::store(rounds::Op op, std::vector<rounds::Target> const& targets,
                          std::function<Values()> values, Type type)
{
    auto gate = type == Type::delta ? parts_.gate : nullptr;
    auto const work = [this, op, targets, type, work = work_, values = std::move(values),
                       gate = std::move(gate)](Call const& call) -> OperationTable::Finish {
        auto const began = monotonic_now();
        auto const content = values();
        auto const stored = work.put(targets, content, call);
        bool const saved = !stored || !gate || gate->wait(monotonic_now() - began);
        return [this, op, type, stored, saved, content]() -> Answer {
            if (!saved)
                parts_.log.debug(
                    "the snapshot takes longer than the upload; the contribution goes out");
            if (!stored) return failed<rounds::Unavailable>(op, stored.error());
            if (type == Type::model) to_keep_[stored->front().name] = {stored->front(), content};
            return rounds::Stored{op, *stored};
        };
    };
    operations_.start(op, parts_.limits.payload, work,
                      late<rounds::Unavailable>(op, parts_.limits.payload));
}

void RoundExecutor::act(rounds::StoreDelta const& order)
{
    store(
        order.op, order.parts, [values = deltas_.at(order.seq)] { return values; }, Type::delta);
}
void RoundExecutor::act(rounds::StoreModel const& order)
{
    if (!anchor_) throw std::logic_error("the last cut did not keep its weights");
    store(
        order.op, order.parts, [values = anchor_] { return values; }, Type::model);
}
void RoundExecutor::act(rounds::MakeInitial const& order)
{
    store(
        order.op, order.parts,
        [make = parts_.initial_weights, seed = order.seed] { return make(seed); }, Type::model);
}

void RoundExecutor::act(rounds::Merge const& merge)
{
    auto const work = [this, work = work_, merge](Call const& call) -> OperationTable::Finish {
        StoreWork::Byproducts byproducts;
        auto const answer = work.merge(merge, byproducts, call);
        return [this, op = merge.op, answer, byproducts]() -> Answer {
            for (auto const& text : byproducts.warnings) parts_.log.warning(text);
            for (auto const& payload : byproducts.stored) to_keep_[payload.part.name] = payload;
            return answer ? *answer : failed<rounds::Unavailable>(op, answer.error());
        };
    };
    // Reads each delta, the model and the momentum, and writes the latter two.
    auto const payloads = static_cast<std::int64_t>(merge.include.size() + 4);
    auto const limit = payloads * parts_.limits.payload;
    operations_.start(merge.op, limit, work, late<rounds::Unavailable>(merge.op, limit));
}

void RoundExecutor::act(rounds::Restore const& restore)
{
    auto const work = [this, work = work_, restore,
                       kept = parts_.kept](Call const& call) -> OperationTable::Finish {
        std::vector<std::string> warnings;
        auto const answer = work.restore(restore, kept.get(), warnings, call);
        return [this, op = restore.op, answer, warnings]() -> Answer {
            for (auto const& text : warnings) parts_.log.warning(text);
            return answer ? *answer : failed<rounds::Unavailable>(op, answer.error());
        };
    };
    // Reads and writes each part. A recipe needs the same as a merge.
    auto const inputs = restore.recipe ? restore.recipe->include.size() + 2 : 0;
    auto const payloads = static_cast<std::int64_t>(2 * restore.parts.size() + inputs);
    auto const limit = payloads * parts_.limits.payload;
    operations_.start(restore.op, limit, work, late<rounds::Unavailable>(restore.op, limit));
}

void RoundExecutor::fetch(rounds::Op op, rounds::PartRef const& part,
                          std::function<void(Values)> use)
{
    auto const work = [this, op, part, work = work_,
                       use = std::move(use)](Call const& call) -> OperationTable::Finish {
        return [this, op, part, use, values = work.read(part, call)]() -> Answer {
            using Cause = store::ReadFailure::Cause;
            if (values) {
                to_keep_[part.name] = {part, *values};
                use(*values);
                return std::nullopt;  // the training loop will answer
            }
            auto const& [cause, error] = values.error();
            if (cause == Cause::unavailable) return failed<rounds::Unavailable>(op, error);
            return rounds::Corrupt{op, part.name, error.message()};
        };
    };
    operations_.start(op, parts_.limits.payload, work,
                      late<rounds::Unavailable>(op, parts_.limits.payload));
}

void RoundExecutor::act(rounds::LoadModel const& load)
{
    fetch(load.op, load.model.parts.at(0), [this, load](Values theta) {
        deltas_.clear();
        parts_.order(LoadWeights{load.op, std::move(theta), load.model.round.value});
    });
}

void RoundExecutor::act(rounds::Cut const& cut)
{
    parts_.order(MakeCut{cut.op, cut.seq, cut.with_model});
}

void RoundExecutor::act(rounds::Adopt const& adopt)
{
    auto const order = [this, adopt](Values theta) {
        for (auto const seq : adopt.dropped) deltas_.erase(seq);
        parts_.order(
            AdoptModel{adopt.op, std::move(theta), adopt.dropped, adopt.model.round.value});
    };
    if (adopt.keeps_weights) order(nullptr);
    else fetch(adopt.op, adopt.model.parts.at(0), order);
}

void RoundExecutor::act(rounds::Train const& train)
{
    parts_.order(TrainBlocks{train.held, train.tokens_before});
}

void RoundExecutor::act(rounds::Discard const&)
{
    deltas_.clear();
    parts_.order(DiscardWork{});
}

void RoundExecutor::act(rounds::Delete const& garbage)
{
    // Garbage that cannot be deleted now does no harm.
    auto const work = [this, work = work_, garbage](Call const& call) -> OperationTable::Finish {
        return [this, removed = work.remove(garbage.name, call)]() -> Answer {
            if (!removed) parts_.log.debug(removed.error().message());
            return std::nullopt;
        };
    };
    start_errand(parts_.limits.record, work);
}

void RoundExecutor::act(rounds::Sweep const& sweep)
{
    auto const work = [this, work = work_, sweep](Call const&) -> OperationTable::Finish {
        return [this, swept = work.sweep(sweep)]() -> Answer {
            if (!swept) parts_.log.warning("sweep: " + swept.error().message());
            else parts_.recorder.event(*swept);
            return std::nullopt;
        };
    };
    start_errand(parts_.limits.payload, work);
}

void RoundExecutor::act(rounds::Note const& note)
{
    if (auto const text = rounds::warning_in(note)) parts_.log.warning(*text);
    parts_.recorder.event(note.type, note.details);
}

void RoundExecutor::act(rounds::Exit const& exit)
{
    write_copies();
    finished_ = true;
    parts_.order(Leave{exit.code, exit.error});
}

}  // namespace curtail::train
