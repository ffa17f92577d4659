// SPDX-License-Identifier: Apache-2.0
#include "train/round_executor.hpp"

#include <algorithm>
#include <cmath>

#include "chain/run_objects.hpp"
#include "core/clock.hpp"
#include "rounds/merge.hpp"

namespace curtail::train {
namespace {

constexpr Bytes small_object_limit{rounds::record_bytes_limit};

bool all_finite(std::vector<float> const& values)
{
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

// The merge's weighted sum of deltas.
std::vector<float> weighted_delta(rounds::Merge const& merge, std::vector<Values> const& deltas,
                                  std::size_t size)
{
    std::vector<std::span<float const>> spans;
    std::vector<float> scale;
    spans.reserve(deltas.size());
    scale.reserve(merge.include.size());
    for (auto const& delta : deltas) spans.emplace_back(*delta);
    for (auto const& included : merge.include) scale.push_back(included.scale);
    std::vector<float> sum(size);
    rounds::weighted_sum(spans, scale, sum);
    return sum;
}

}  // namespace

std::optional<rounds::Input> RoundExecutor::carry_out(rounds::Output const& output)
{
    return std::visit([this](auto const& what) { return act(what); }, output);
}

template <class Answer>
rounds::Input RoundExecutor::failed(rounds::Op op, Error const& error)
{
    if (error.why != last_reason_) parts_.log.warning(error.message() + "; retrying");
    last_reason_ = error.why;
    return Answer{op, error.message(), error.code};
}

rounds::Input RoundExecutor::translate(LoopEvent event)
{
    if (auto* made = std::get_if<CutMade>(&event)) {
        deltas_[made->seq] = made->values.delta;
        anchor_ = made->values.anchor;
        return rounds::CutReady{made->op,
                                made->blocks.ranges,
                                made->blocks.steps,
                                {made->values.sum_of_squares},
                                {made->values.nonfinite}};
    }
    return std::visit(
        []<class Message>(Message&& message) -> rounds::Input {
            if constexpr (std::is_same_v<std::decay_t<Message>, CutMade>)
                throw std::logic_error("handled above");
            else return std::forward<Message>(message);
        },
        std::move(event));
}

Result<store::ObjectName> RoundExecutor::object(std::string const& name) const
{
    return chain::object_name(parts_.layout.run, name);
}

RoundExecutor::Answer RoundExecutor::act(rounds::Get const& get)
{
    auto const name = object(get.name);
    if (!name) return failed<rounds::Unknown>(get.op, name.error());
    auto content = parts_.store.get(*name, small_object_limit);
    // Too long for a record: return any text of that length, which the protocol refuses.
    if (!content && content.error().code == ExitCode::data)
        return rounds::Got{get.op, std::string(rounds::record_bytes_limit + 1, ' ')};
    if (!content) return failed<rounds::Unknown>(get.op, content.error());
    if (!*content) return rounds::Missing{get.op};
    return rounds::Got{get.op, std::string(store::text_of(**content))};
}

RoundExecutor::Answer RoundExecutor::act(rounds::Create const& create)
{
    auto const name = object(create.name);
    if (!name) return failed<rounds::Unknown>(create.op, name.error());
    auto const outcome = parts_.store.create(*name, store::bytes_of(create.bytes));
    auto const uncertain = [&](char const* why) {
        return failed<rounds::Unknown>(
            create.op,
            {ExitCode::temporary, "cannot tell whether " + create.name + " was created", why, {}});
    };
    if (!outcome) return failed<rounds::Unknown>(create.op, outcome.error());
    if (*outcome == store::CreateOutcome::unknown) return uncertain("the store's reply was lost");
    if (*outcome == store::CreateOutcome::exists) return rounds::Exists{create.op};
    if (!create.want_time) return rounds::Created{create.op, std::nullopt};
    auto const info = parts_.store.stat(*name);
    if (!info) return failed<rounds::Unknown>(create.op, info.error());
    if (!*info) return uncertain("the object has disappeared");
    return rounds::Created{create.op, (*info)->modified};
}

Result<rounds::PartRef> RoundExecutor::put(rounds::Target const& target,
                                           std::span<float const> values)
{
    auto const name = object(target.name);
    if (!name) return tl::unexpected(name.error());
    auto const bytes = payload::encode(parts_.layout, target.part, values);
    if (!bytes) return tl::unexpected(bytes.error());
    if (auto stored = parts_.store.put(*name, store::bytes_of(*bytes)); !stored)
        return tl::unexpected(stored.error());
    return rounds::PartRef{target.part, target.name, static_cast<std::int64_t>(bytes->size()),
                           sha256(*bytes)};
}

RoundExecutor::Answer RoundExecutor::store_one(rounds::Op op,
                                               std::vector<rounds::Target> const& targets,
                                               std::span<float const> values)
{
    auto const began = monotonic_now();
    auto stored = put(targets.at(0), values);
    if (!stored) return failed<rounds::Unavailable>(op, stored.error());
    wait_for_snapshot(began);
    return rounds::Stored{op, {*stored}};
}

void RoundExecutor::wait_for_snapshot(MonoTime began) const
{
    if (!parts_.wait_for_snapshot) return;
    if (!parts_.wait_for_snapshot(monotonic_now() - began))
        parts_.log.debug("the snapshot takes longer than the upload; the contribution goes out");
}

RoundExecutor::Answer RoundExecutor::act(rounds::StoreDelta const& order)
{
    return store_one(order.op, order.parts, *deltas_.at(order.seq));
}
RoundExecutor::Answer RoundExecutor::act(rounds::StoreModel const& order)
{
    return store_one(order.op, order.parts, *anchor_);
}
RoundExecutor::Answer RoundExecutor::act(rounds::MakeInitial const& order)
{
    return store_one(order.op, order.parts, *parts_.initial_weights(order.seed));
}

tl::expected<Values, store::ReadFailure> RoundExecutor::read_payload(rounds::PartRef const& part)
{
    using store::ReadFailure;
    auto const content = chain::RunObjects(parts_.store, parts_.layout.run).payload(part);
    if (!content) return tl::unexpected(content.error());
    auto values = payload::decode(parts_.layout, part.part, store::text_of(*content), part.name);
    if (!values) return tl::unexpected(ReadFailure{ReadFailure::Cause::corrupt, values.error()});
    return *values;
}

RoundExecutor::Fetched RoundExecutor::fetch(rounds::Op op, rounds::PartRef const& part)
{
    auto values = read_payload(part);
    if (values) return *values;
    auto const& [cause, error] = values.error();
    if (cause == store::ReadFailure::Cause::unavailable)
        return tl::unexpected(failed<rounds::Unavailable>(op, error));
    return tl::unexpected<rounds::Input>(rounds::Corrupt{op, part.name, error.message()});
}

RoundExecutor::Answer RoundExecutor::gather_deltas(rounds::Merge const& merge,
                                                   std::vector<Values>& deltas)
{
    rounds::Merged found{merge.op, {}, {}, {}};
    for (auto const& included : merge.include) {
        using Cause = store::ReadFailure::Cause;
        auto const delta = read_payload(included.parts.at(0).payload);
        if (!delta && delta.error().cause == Cause::unavailable)
            return failed<rounds::Unavailable>(merge.op, delta.error().error);
        if (!delta) {
            parts_.log.warning(delta.error().error.message());
            found.refused.push_back({included.member, included.seq, rounds::Refusal::digest,
                                     delta.error().cause == Cause::missing});
        } else if (!all_finite(**delta))
            found.refused.push_back({included.member, included.seq, rounds::Refusal::nan});
        else deltas.push_back(*delta);
    }
    if (!found.refused.empty()) return found;
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Merge const& merge)
{
    std::vector<Values> deltas;
    if (auto answer = gather_deltas(merge, deltas)) return answer;
    auto const model = fetch(merge.op, merge.model.parts.at(0));
    if (!model) return model.error();
    std::vector<float> theta(**model);
    auto g = weighted_delta(merge, deltas, theta.size());
    rounds::Merged merged{merge.op, {}, {}, {}};
    if (!merge.outer_step) rounds::average_step(theta, g);
    else if (auto failure = outer_step(merge, theta, g, merged)) return failure;
    auto part = put(merge.weights.at(0), theta);
    if (!part) return failed<rounds::Unavailable>(merge.op, part.error());
    merged.model.push_back(*part);
    return merged;
}

// Updates theta with Nesterov momentum and stores the momentum. Returns a failure, if any.
RoundExecutor::Answer RoundExecutor::outer_step(rounds::Merge const& merge,
                                                std::vector<float>& theta, std::vector<float>& g,
                                                rounds::Merged& merged)
{
    std::vector<float> momentum(theta.size());
    if (merge.outer) {
        auto const stored = fetch(merge.op, merge.outer->parts.at(0));
        if (!stored) return stored.error();
        momentum = **stored;
    }
    rounds::nesterov_step(theta, momentum, g, static_cast<float>(merge.eta),
                          static_cast<float>(merge.mu));
    auto part = put(merge.momentum.at(0), momentum);
    if (!part) return failed<rounds::Unavailable>(merge.op, part.error());
    merged.momentum.push_back(*part);
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::LoadModel const& load)
{
    auto theta = fetch(load.op, load.model.parts.at(0));
    if (!theta) return theta.error();
    deltas_.clear();
    parts_.order(LoadWeights{load.op, *theta, load.model.round.value});
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Cut const& cut)
{
    parts_.order(MakeCut{cut.op, cut.seq});
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Adopt const& adopt)
{
    Values theta;
    if (!adopt.keeps_weights) {
        auto fetched = fetch(adopt.op, adopt.model.parts.at(0));
        if (!fetched) return fetched.error();
        theta = *fetched;
    }
    for (auto const seq : adopt.dropped) deltas_.erase(seq);
    parts_.order(AdoptModel{adopt.op, theta, adopt.dropped, adopt.model.round.value});
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Train const& train)
{
    parts_.order(TrainBlocks{train.held, train.tokens_before});
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Discard const&)
{
    deltas_.clear();
    parts_.order(DiscardWork{});
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Delete const& garbage)
{
    // Garbage that cannot be deleted now does no harm.
    if (auto const name = object(garbage.name))
        if (auto removed = parts_.store.remove(*name); !removed)
            parts_.log.debug(removed.error().message());
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Note const& note)
{
    parts_.recorder.event(note.type, note.details);
    return std::nullopt;
}

RoundExecutor::Answer RoundExecutor::act(rounds::Exit const& exit)
{
    finished_ = true;
    parts_.order(Leave{exit.code, exit.error});
    return std::nullopt;
}

}  // namespace curtail::train
