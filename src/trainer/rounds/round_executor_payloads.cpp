// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/core/clock.hpp"
#include "protocol/upkeep/payload_name.hpp"
#include "trainer/rounds/round_executor.hpp"

// Storing, reading and merging payloads, and copies of them on this machine.
namespace curtail::trainer {

void RoundExecutor::offer(protocol::PartRef const& part, Values const& values)
{
    if (!parts_.direct) return;
    parts_.direct->offer(transport_.layout(), part, values);
    offered_.push_back(part);
}

void RoundExecutor::end_round_of_offers(std::vector<protocol::PartRef> const& newest)
{
    if (!parts_.direct) return;
    std::erase_if(offered_, [&](protocol::PartRef const& part) {
        auto const payload = upkeep::parse_payload_name(part.name);
        auto const* const delta = payload ? std::get_if<upkeep::DeltaPayload>(&*payload) : nullptr;
        bool const needed = delta != nullptr ? deltas_.contains(delta->seq)
                                             : std::ranges::find(newest, part) != newest.end();
        if (!needed) parts_.direct->withdraw(part);
        return !needed;
    });
    auto const round = newest.empty() ? std::nullopt : upkeep::model_round(newest.front().name);
    if (!round) return;
    auto read = parts_.direct->take_read();
    if (!read) return;
    read->round = round->value;
    parts_.recorder.payloads_read(*read);
}

void RoundExecutor::store(protocol::Op op, protocol::PayloadPlace const& place,
                          std::function<Values()> values, Type type)
{
    // The journal's end is published while the payload is: the record after it names both.
    if (parts_.publish_logs) parts_.publish_logs();
    auto gate = type == Type::delta ? parts_.gate : nullptr;
    auto const work = [this, op, place, type, transport = transport_, values = std::move(values),
                       gate = std::move(gate)](CallLimits const& call) -> OperationTable::Finish {
        auto const began = monotonic_now();
        auto const content = values();
        auto const stored = transport.put(place, content, call);
        bool const saved = !stored || !gate || gate->wait(monotonic_now() - began);
        return [this, op, type, stored, saved, content]() -> Answer {
            if (!saved)
                parts_.log.debug(
                    "the snapshot takes longer than the upload; the contribution goes out");
            if (!stored) return failed<protocol::Unavailable>(op, stored.error());
            offer(*stored, content);
            if (type == Type::model) to_keep_[stored->name] = {*stored, content};
            return protocol::Stored{op, *stored};
        };
    };
    start<protocol::Unavailable>(op, parts_.limits.payload, work);
}

void RoundExecutor::act(protocol::StoreDelta const& question)
{
    store(
        question.op, question.place, [values = deltas_.at(question.seq)] { return values; },
        Type::delta);
}
void RoundExecutor::act(protocol::StoreModel const& question)
{
    to_keep_.clear();
    if (!anchor_) throw std::logic_error("the last cut did not keep its weights");
    store(
        question.op, question.place, [values = anchor_] { return values; }, Type::model);
}
void RoundExecutor::act(protocol::MakeInitial const& question)
{
    store(
        question.op, question.place,
        [make = parts_.initial_weights, seed = question.seed] { return make(seed); }, Type::model);
}

void RoundExecutor::act(protocol::Merge const& merge)
{
    if (parts_.publish_logs) parts_.publish_logs();
    to_keep_.clear();
    auto const work = [this, merges = merges_, merge,
                       direct = direct_time_](CallLimits const& call) -> OperationTable::Finish {
        MergeWork::Byproducts byproducts;
        auto const answer =
            merges.direct_until(monotonic_now() + direct).merge(merge, byproducts, call);
        return [this, op = merge.op, answer, byproducts]() -> Answer {
            for (auto const& text : byproducts.warnings) parts_.log.warning(text);
            if (answer)
                for (auto const& payload : byproducts.stored) {
                    offer(payload.part, payload.values);
                    to_keep_[payload.part.name] = payload;
                }
            return answer ? *answer : failed<protocol::Unavailable>(op, answer.error());
        };
    };
    // Reads each delta, the model and the momentum, and writes the latter two.
    auto const payloads = static_cast<std::int64_t>(merge.include.size() + 4);
    auto const limit = payloads * parts_.limits.payload;
    start<protocol::Unavailable>(merge.op, limit, work);
}

void RoundExecutor::act(protocol::Restore const& restore)
{
    auto const work = [this, merges = merges_, restore, kept = parts_.kept,
                       direct = direct_time_](CallLimits const& call) -> OperationTable::Finish {
        std::vector<std::string> warnings;
        auto const answer = merges.direct_until(monotonic_now() + direct)
                                .restore(restore, kept.get(), warnings, call);
        return [this, op = restore.op, answer, warnings]() -> Answer {
            for (auto const& text : warnings) parts_.log.warning(text);
            return answer ? *answer : failed<protocol::Unavailable>(op, answer.error());
        };
    };
    // Reads and writes each part. Recomputing needs the same as a merge.
    auto const inputs = restore.recompute ? restore.recompute->include.size() + 2 : 0;
    auto const payloads = static_cast<std::int64_t>(2 * restore.parts.size() + inputs);
    auto const limit = payloads * parts_.limits.payload;
    start<protocol::Unavailable>(restore.op, limit, work);
}

void RoundExecutor::fetch(protocol::Op op, protocol::PartRef const& part,
                          std::function<void(Values)> use)
{
    auto const work = [this, op, part, transport = transport_, direct = direct_time_,
                       use = std::move(use)](CallLimits const& call) -> OperationTable::Finish {
        auto const limited = transport.direct_until(monotonic_now() + direct);
        return [this, op, part, use, values = limited.get(part, call)]() -> Answer {
            using Cause = store::ReadFailure::Cause;
            if (values) {
                to_keep_[part.name] = {part, *values};
                use(*values);
                return std::nullopt;  // the training loop will answer
            }
            auto const& [cause, error] = values.error();
            if (cause == Cause::unavailable) return failed<protocol::Unavailable>(op, error);
            return protocol::Corrupt{op, part.name, error.message()};
        };
    };
    start<protocol::Unavailable>(op, parts_.limits.payload, work);
}

void RoundExecutor::act(protocol::LoadModel const& load)
{
    identify();
    fetch(load.op, load.model.weights, [this, load](Values theta) {
        deltas_.clear();
        parts_.order(WithModel<protocol::LoadModel>{load, std::move(theta)});
    });
}

void RoundExecutor::act(protocol::Adopt const& adopt)
{
    auto const order = [this, adopt](Values theta) {
        for (auto const seq : adopt.dropped) deltas_.erase(seq);
        parts_.order(WithModel<protocol::Adopt>{adopt, std::move(theta)});
    };
    if (adopt.keeps_weights) order(nullptr);
    else fetch(adopt.op, adopt.model.weights, order);
}

void RoundExecutor::write_copies(std::vector<StoredPayload> payloads,
                                 std::vector<protocol::PartRef> keep_only)
{
    if (!parts_.kept) return;
    ++*copying_;
    // Counts down however the operation ends, or if it cannot start.
    std::shared_ptr<void> const counted(nullptr, [copying = copying_](void*) { --*copying; });
    auto const work = [this, payloads = std::move(payloads), keep_only = std::move(keep_only),
                       kept = parts_.kept, transport = transport_, direct = parts_.direct,
                       counted](CallLimits const&) -> OperationTable::Finish {
        std::vector<std::string> failures;
        for (auto const& [part, values] : payloads) {
            auto const encoded = payload::encode(transport.layout(), part.part, *values);
            if (auto done = kept->keep(part, encoded.pieces()); !done)
                failures.push_back(done.error().message());
            else if (direct) direct->offer_file(part, kept->open(part));
        }
        if (!keep_only.empty()) kept->keep_only(keep_only);
        return [this, failures]() -> Answer {
            for (auto const& failure : failures) parts_.log.warning(failure);
            return std::nullopt;
        };
    };
    start_errand(OperationTable::first_errand, parts_.limits.payload, work);
}

void RoundExecutor::act(protocol::Keep const& keep)
{
    std::vector<StoredPayload> payloads;
    for (auto const& part : keep.parts)
        if (auto const found = to_keep_.find(part.name); found != to_keep_.end())
            payloads.push_back(found->second);
    // No commit names the others any more.
    to_keep_.clear();
    end_round_of_offers(keep.parts);
    write_copies(std::move(payloads), keep.parts);
}

}  // namespace curtail::trainer
