// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/round_executor.hpp"

#include <thread>
#include <utility>

#include "base/core/clock.hpp"
#include "protocol/chain/newest.hpp"
#include "protocol/chain/run_objects.hpp"
#include "protocol/chain/sweep.hpp"
#include "protocol/records/names.hpp"
#include "protocol/site/notes.hpp"
#include "run/runlog/trainer_events.hpp"
#include "trainer/engine/training_id.hpp"

namespace curtail::trainer {
namespace {

// Reads the chain, and deletes what a sweep may delete. Fails if an object could not be deleted,
// after it has tried all.
Result<runlog::SweepReport> sweep_run(chain::RunObjects const& objects,
                                      protocol::Sweep const& order)
{
    auto const plan = chain::plan_sweep(objects, order.now, {order.sweep_after});
    if (!plan) return tl::unexpected(plan.error());
    auto const result = chain::carry_out(objects, *plan);
    if (!result.errors.empty()) return tl::unexpected(result.errors.front());
    return runlog::SweepReport{result.deleted, result.freed};
}

}  // namespace

RoundExecutor::RoundExecutor(Parts parts, std::function<void()> notify)
    : parts_(std::move(parts)),
      records_(parts_.store, parts_.layout.run),
      transport_(parts_.store, parts_.layout, parts_.direct),
      merges_(transport_),
      operations_(std::move(notify))
{
}

void RoundExecutor::carry_out(protocol::Output const& output)
{
    std::visit([this](auto const& what) { act(what); }, output);
}

std::vector<protocol::Input> RoundExecutor::take_answers()
{
    std::vector<protocol::Input> answers;
    for (auto const& finish : operations_.take_ended())
        if (auto answer = finish()) answers.push_back(std::move(*answer));
    if (answers.empty() || !parts_.journal_heads) return answers;
    // Before the answer to which the protocol may make a header or a commit.
    if (auto heads = parts_.journal_heads(); heads != told_) {
        told_ = std::move(heads);
        answers.insert(answers.begin(), protocol::Published{told_});
    }
    return answers;
}

void RoundExecutor::finish_errands(Millis for_copies)
{
    auto const began = monotonic_now();
    constexpr Seconds for_deletions{1};
    while ((operations_.has_errands() && monotonic_now() < began + for_deletions) ||
           (*copying_ > 0 && monotonic_now() < began + for_copies)) {
        try {
            (void)take_answers();
        } catch (std::exception const& broken) {
            parts_.log.error(std::string("an operation failed: ") + broken.what());
        }
        std::this_thread::sleep_for(Millis{1});
    }
}

void RoundExecutor::set_members(MemberId const& own, std::vector<MemberId> const& members)
{
    // The store has proved fit, and has this run.
    if (parts_.publish_logs && !std::exchange(is_member_, true)) parts_.publish_logs();
    if (parts_.direct) parts_.direct->set_members(own, members);
}

protocol::Input RoundExecutor::translate(LoopEvent event)
{
    if (std::holds_alternative<protocol::Stepped>(event)) identify();
    return std::visit(
        [this]<class Message>(Message&& message) -> protocol::Input {
            if constexpr (std::is_same_v<std::decay_t<Message>, CutResult>) {
                auto const& [delta, anchor, sums] = message.values;
                deltas_[message.seq] = delta;
                anchor_ = anchor;
                return protocol::CutReady{message.op, sums.sumsq, sums.nonfinite};
            } else return std::forward<Message>(message);
        },
        std::move(event));
}

void RoundExecutor::act(protocol::Get const& get)
{
    auto const work = [this, records = records_,
                       get](CallLimits const& call) -> OperationTable::Finish {
        return [this, get, answer = records.get(get, call)]() -> Answer {
            return answer ? *answer : failed<protocol::Unknown>(get.op, answer.error());
        };
    };
    start<protocol::Unknown>(get.op, parts_.limits.record, work);
}

void RoundExecutor::act(protocol::GetCopy const& get)
{
    auto const work = [get, commits = parts_.commits](CallLimits const&) -> OperationTable::Finish {
        auto bytes = commits ? commits->find(get.name, get.sha256) : std::nullopt;
        return [get, bytes = std::move(bytes)]() -> Answer {
            if (!bytes) return protocol::Missing{get.op};
            return protocol::Got{get.op, *bytes};
        };
    };
    operations_.start(get.op, parts_.limits.record, work,
                      [get]() -> Answer { return protocol::Missing{get.op}; });
}

void RoundExecutor::act(protocol::List const& list)
{
    auto const work = [this, list, store = parts_.store,
                       run = parts_.layout.run](CallLimits const& call) -> OperationTable::Finish {
        auto const numbers = chain::listed_commits({*store, run, nullptr, call}, list.after);
        return [this, list, numbers]() -> Answer {
            if (!numbers) return failed<protocol::Unknown>(list.op, numbers.error());
            return protocol::Listed{list.op, list.after, *numbers};
        };
    };
    start<protocol::Unknown>(list.op, parts_.limits.record, work);
}

void RoundExecutor::act(protocol::KeepCommit const& keep)
{
    if (!parts_.commits) return;
    auto const work = [keep,
                       commits = parts_.commits](CallLimits const&) -> OperationTable::Finish {
        commits->add(protocol::commit_name(keep.number), keep.bytes);
        commits->flush();
        return []() -> Answer { return std::nullopt; };
    };
    start_errand(OperationTable::first_errand, parts_.limits.record, work);
}

void RoundExecutor::act(protocol::Create const& create)
{
    auto const work = [this, records = records_,
                       create](CallLimits const& call) -> OperationTable::Finish {
        return [this, op = create.op, answer = records.create(create, call)]() -> Answer {
            if (answer) return *answer;
            auto failure = failed<protocol::Unknown>(op, answer.error().error);
            std::get<protocol::Unknown>(failure).created_nothing = answer.error().created_nothing;
            return failure;
        };
    };
    start<protocol::Unknown>(create.op, parts_.limits.record, work);
}

void RoundExecutor::start_errand(protocol::Op first, Millis limit, OperationTable::Work work)
{
    operations_.start(first + errands_++, limit, std::move(work),
                      []() -> Answer { return std::nullopt; });
}

// The training loop itself never reads the store.
void RoundExecutor::identify()
{
    if (!parts_.identify || identifying_ || monotonic_now() < identify_from_) return;
    identifying_ = true;
    auto const late = [this]() -> Answer {
        identifying_ = false;
        identify_from_ = monotonic_now() + parts_.limits.identify_again;
        return std::nullopt;
    };
    auto const work = [this, late, store = parts_.store,
                       run = parts_.layout.run](CallLimits const& call) -> OperationTable::Finish {
        return [this, late, id = training_id_in_store(*store, run, call)]() -> Answer {
            if (!id || !*id) return late();
            parts_.identify = false;
            parts_.order(IdentifyTraining{**id});
            return late();
        };
    };
    operations_.start(OperationTable::first_errand + errands_++, parts_.limits.record, work, late);
}

void RoundExecutor::act(protocol::Overwrite const& overwrite)
{
    // While the store does not answer, one write of the name is enough.
    if (!overwriting_.insert(overwrite.name).second) return;
    auto const late = [this, name = overwrite.name]() -> Answer {
        overwriting_.erase(name);
        return std::nullopt;
    };
    auto const work = [this, overwrite, late,
                       records = records_](CallLimits const& call) -> OperationTable::Finish {
        return [this, late, stored = records.overwrite(overwrite, call)]() -> Answer {
            if (!stored && stored.error().why != last_reason_)
                parts_.log.warning(stored.error().message());
            if (!stored) last_reason_ = stored.error().why;
            return late();
        };
    };
    auto const limit = std::min(parts_.limits.record, overwrite.limit);
    operations_.start(OperationTable::first_errand + errands_++, limit, work, late);
}

void RoundExecutor::act(protocol::Cut const& cut)
{
    identify();
    parts_.order(cut);
}

void RoundExecutor::act(protocol::Discard const& discard)
{
    deltas_.clear();
    parts_.order(discard);
}

void RoundExecutor::act(protocol::Delete const& garbage)
{
    // Garbage that cannot be deleted now does no harm.
    auto const work = [this, transport = transport_,
                       garbage](CallLimits const& call) -> OperationTable::Finish {
        return [this, removed = transport.discard(garbage.name, call)]() -> Answer {
            if (!removed) parts_.log.debug(removed.error().message());
            return std::nullopt;
        };
    };
    start_errand(OperationTable::first_chore, parts_.limits.payload, work);
}

void RoundExecutor::act(protocol::Sweep const& sweep)
{
    auto const work = [this, store = parts_.store, run = parts_.layout.run,
                       commits = parts_.commits,
                       sweep](CallLimits const& call) -> OperationTable::Finish {
        return [this, swept = sweep_run({*store, run, commits.get(), call}, sweep)]() -> Answer {
            if (!swept) parts_.log.warning("sweep: " + swept.error().message());
            else parts_.recorder.event(*swept);
            return std::nullopt;
        };
    };
    start_errand(OperationTable::first_chore, parts_.limits.payload, work);
}

void RoundExecutor::act(protocol::Note const& note)
{
    if (auto const text = protocol::warning_in(note)) parts_.log.warning(*text);
    parts_.recorder.event(note.type, note.details);
}

void RoundExecutor::act(protocol::Exit const& exit)
{
    for (auto& [name, payload] : std::exchange(to_keep_, {}))
        write_copies({std::move(payload)}, {});
    finished_ = true;
    parts_.order(exit);
}

}  // namespace curtail::trainer
