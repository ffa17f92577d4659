// SPDX-License-Identifier: Apache-2.0
#include "train/store_work.hpp"

#include <fmt/format.h>

#include <cmath>
#include <future>

#include "chain/run_objects.hpp"
#include "maintain/sweep.hpp"
#include "rounds/merge.hpp"

namespace curtail::train {
namespace {

constexpr Bytes small_object_limit{rounds::record_bytes_limit};

std::vector<std::span<float const>> spans_of(std::vector<Values> const& deltas)
{
    std::vector<std::span<float const>> spans;
    spans.reserve(deltas.size());
    for (auto const& delta : deltas) spans.emplace_back(*delta);
    return spans;
}

std::vector<float> scales_of(rounds::Merge const& merge)
{
    std::vector<float> scales;
    scales.reserve(merge.include.size());
    for (auto const& included : merge.include) scales.push_back(included.scale);
    return scales;
}

std::string name_of(rounds::Merge::Included const& contribution)
{
    return "contribution " + std::to_string(contribution.seq.value) + " of " +
           contribution.member.value;
}

// Returns why a merge must refuse a contribution whose values have this sum of squares.
std::optional<rounds::Refusal> fault_of(rounds::Merge::Included const& contribution, double sumsq)
{
    if (!std::isfinite(sumsq)) return rounds::Refusal::nan;
    bool const same = rounds::is_same_sumsq(sumsq, contribution.parts.at(0).sumsq);
    return same ? std::nullopt : std::optional(rounds::Refusal::norm);
}

// Returns the contributions that must not be in the model.
std::vector<rounds::Merged::Refused> faults_in(rounds::Merge const& question,
                                               rounds::MergeFindings const& findings,
                                               std::vector<std::string>& warnings)
{
    std::vector<rounds::Merged::Refused> refused;
    for (std::size_t i = 0; i < question.include.size(); ++i) {
        auto const& c = question.include[i];
        auto const fault = fault_of(c, findings.sumsq[i]);
        if (!fault) continue;
        bool const nan = fault == rounds::Refusal::nan;
        warnings.push_back("refusing " + name_of(c) +
                           (nan ? ": some of its values are not finite"
                                : fmt::format(": the sum of the squares of its values is {}, but "
                                              "its header says {}",
                                              findings.sumsq[i], c.parts.at(0).sumsq)));
        refused.push_back({c.member, c.seq, *fault});
    }
    return refused;
}

// Returns the contribution without which a merge is tried again, because the new model has a value
// that is not finite.
rounds::Merged::Refused greatest_of(rounds::Merge const& question,
                                    rounds::WeightedDeltas const& deltas,
                                    std::span<float const> model,
                                    std::vector<std::string>& warnings)
{
    auto const& c = question.include.at(rounds::greatest_at_fault(deltas, model));
    warnings.push_back("refusing " + name_of(c) +
                       ": with it, some values of the merged model are not finite");
    return {c.member, c.seq, rounds::Refusal::nan};
}

Values values_of(std::vector<float> values)
{
    return std::make_shared<std::vector<float> const>(std::move(values));
}

tl::unexpected<Error> uncertain(std::string const& name, char const* why)
{
    return fail(ExitCode::temporary, "cannot tell whether " + name + " was created", why);
}

}  // namespace

StoreWork::StoreWork(std::shared_ptr<store::ObjectStore> store, payload::Layout layout)
    : store_(std::move(store)), layout_(std::make_shared<payload::Layout const>(std::move(layout)))
{
}

Result<store::ObjectName> StoreWork::object(std::string const& name) const
{
    return chain::object_name(layout_->run, name);
}

Result<rounds::Input> StoreWork::get(rounds::Get const& question, Call const& call) const
{
    auto const name = object(question.name);
    if (!name) return tl::unexpected(name.error());
    auto content = store_->get(*name, small_object_limit, call);
    // Too long for a record: return any text of that length, which the protocol refuses.
    if (!content && content.error().code == ExitCode::data)
        return rounds::Got{question.op, std::string(rounds::record_bytes_limit + 1, ' ')};
    if (!content) return tl::unexpected(content.error());
    if (!*content) return rounds::Missing{question.op};
    return rounds::Got{question.op, std::string(store::text_of(**content))};
}

Result<rounds::Input> StoreWork::create(rounds::Create const& question, Call const& call) const
{
    auto const name = object(question.name);
    if (!name) return tl::unexpected(name.error());
    auto const outcome = store_->create(*name, store::bytes_of(question.bytes), call);
    if (!outcome) return tl::unexpected(outcome.error());
    if (*outcome == store::CreateOutcome::unknown)
        return uncertain(question.name, "the store's reply was lost");
    if (*outcome == store::CreateOutcome::exists) return rounds::Exists{question.op};
    if (!question.want_time) return rounds::Created{question.op, std::nullopt};
    auto const info = store_->stat(*name, call);
    if (!info) return tl::unexpected(info.error());
    if (!*info) return uncertain(question.name, "the object has disappeared");
    return rounds::Created{question.op, (*info)->modified};
}

Result<rounds::PartRef> StoreWork::put_one(rounds::Target const& target,
                                           std::span<float const> values, Call const& call) const
{
    auto const name = object(target.name);
    if (!name) return tl::unexpected(name.error());
    auto const encoded = payload::encode(*layout_, target.part, values);
    auto const bytes = encoded.pieces();
    // In another thread if one can start.
    auto digest = std::async([&] { return sha256_of(bytes); });
    if (auto stored = store_->put(*name, bytes, call); !stored)
        return tl::unexpected(stored.error());
    return rounds::PartRef{target.part, target.name, static_cast<std::int64_t>(bytes.size()),
                           digest.get()};
}

Result<std::vector<rounds::PartRef>> StoreWork::put(std::vector<rounds::Target> const& targets,
                                                    std::span<float const> values,
                                                    Call const& call) const
{
    auto stored = put_one(targets.at(0), values, call);
    if (!stored) return tl::unexpected(stored.error());
    return std::vector{std::move(*stored)};
}

tl::expected<Values, store::ReadFailure> StoreWork::read(rounds::PartRef const& part,
                                                         Call const& call) const
{
    using store::ReadFailure;
    chain::RunObjects const objects(*store_, layout_->run);
    payload::Decoder decoder(*layout_, part.part);
    auto const read = objects.payload(
        part, [&] { decoder.begin(); },
        [&](std::span<std::byte const> piece) { decoder.add(piece); }, call);
    if (!read) return tl::unexpected(read.error());
    if (auto values = decoder.finish()) return values;
    // Not of this form: say why, or read it as a file of HDF5.
    auto const content = objects.payload(part, call);
    if (!content) return tl::unexpected(content.error());
    auto values = payload::decode(*layout_, part.part, store::text_of(*content), part.name);
    if (!values) return tl::unexpected(ReadFailure{ReadFailure::Cause::corrupt, values.error()});
    return *values;
}

tl::expected<Values, StoreWork::Obstacle> StoreWork::fetch(rounds::Op op,
                                                           rounds::PartRef const& part,
                                                           Call const& call) const
{
    auto values = read(part, call);
    if (values) return *values;
    auto const& [cause, error] = values.error();
    if (cause == store::ReadFailure::Cause::unavailable)
        return tl::unexpected(Obstacle(tl::unexpected(error)));
    return tl::unexpected(Obstacle(rounds::Corrupt{op, part.name, error.message()}));
}

tl::expected<std::vector<Values>, StoreWork::Obstacle> StoreWork::gather(
    rounds::Merge const& question, std::vector<std::string>& warnings, Call const& call) const
{
    using Cause = store::ReadFailure::Cause;
    std::vector<Values> deltas;
    rounds::Merged found{question.op, {}, {}, {}};
    for (auto const& included : question.include) {
        auto const delta = read(included.parts.at(0).payload, call);
        if (!delta && delta.error().cause == Cause::unavailable)
            return tl::unexpected(Obstacle(tl::unexpected(delta.error().error)));
        if (!delta) {
            warnings.push_back(delta.error().error.message());
            found.refused.push_back({included.member, included.seq, rounds::Refusal::digest,
                                     delta.error().cause == Cause::missing});
        } else deltas.push_back(*delta);
    }
    if (!found.refused.empty()) return tl::unexpected(Obstacle(std::move(found)));
    return deltas;
}

tl::expected<StoreWork::MergeInputs, StoreWork::Obstacle> StoreWork::read_inputs(
    rounds::Merge const& question, std::vector<std::string>& warnings, Call const& call) const
{
    MergeInputs inputs;
    auto deltas = gather(question, warnings, call);
    if (!deltas) return tl::unexpected(std::move(deltas.error()));
    inputs.deltas = std::move(*deltas);
    auto theta = fetch(question.op, question.model.parts.at(0), call);
    if (!theta) return tl::unexpected(std::move(theta.error()));
    inputs.theta = std::move(*theta);
    if (!question.outer_step || !question.outer) return inputs;
    auto momentum = fetch(question.op, question.outer->parts.at(0), call);
    if (!momentum) return tl::unexpected(std::move(momentum.error()));
    inputs.momentum = std::move(*momentum);
    return inputs;
}

tl::expected<StoreWork::Computed, StoreWork::Obstacle> StoreWork::compute(
    rounds::Merge const& question, std::vector<std::string>& warnings, Call const& call) const
{
    auto const inputs = read_inputs(question, warnings, call);
    if (!inputs) return tl::unexpected(inputs.error());
    std::vector<std::span<float const>> const spans = spans_of(inputs->deltas);
    auto const scale = scales_of(question);
    rounds::WeightedDeltas const deltas{spans, scale};
    std::vector<float> model(inputs->theta->size());
    std::vector<float> momentum(question.outer_step ? model.size() : 0);
    rounds::MergeFindings findings;
    if (question.outer_step) {
        rounds::OuterStep step{
            *inputs->theta, {}, static_cast<float>(question.eta), static_cast<float>(question.mu)};
        if (inputs->momentum) step.momentum = *inputs->momentum;
        findings = rounds::nesterov_step(step, deltas, model, momentum);
    } else findings = rounds::average_step(*inputs->theta, deltas, model);
    auto refused = faults_in(question, findings, warnings);
    if (refused.empty() && !findings.finite)
        refused.push_back(greatest_of(question, deltas, model, warnings));
    if (!refused.empty())
        return tl::unexpected(Obstacle(rounds::Merged{question.op, std::move(refused), {}, {}}));
    return Computed{values_of(std::move(model)), values_of(std::move(momentum))};
}

Result<rounds::Input> StoreWork::merge(rounds::Merge const& question, Byproducts& byproducts,
                                       Call const& call) const
{
    auto const computed = compute(question, byproducts.warnings, call);
    if (!computed) return computed.error();
    rounds::Merged merged{question.op, {}, {}, {}};
    if (question.outer_step) {
        auto part = put_one(question.momentum.at(0), *computed->momentum, call);
        if (!part) return tl::unexpected(part.error());
        byproducts.stored.push_back({*part, computed->momentum});
        merged.momentum.push_back(std::move(*part));
    }
    auto part = put_one(question.weights.at(0), *computed->model, call);
    if (!part) return tl::unexpected(part.error());
    byproducts.stored.push_back({*part, computed->model});
    merged.model.push_back(std::move(*part));
    return merged;
}

Result<void> StoreWork::overwrite(rounds::Overwrite const& order, Call const& call) const
{
    auto const name = object(order.name);
    if (!name) return tl::unexpected(name.error());
    return store_->put(*name, Pieces(std::string_view(order.bytes)), call);
}

Result<void> StoreWork::remove(std::string const& name, Call const& call) const
{
    auto const object_name = object(name);
    if (!object_name) return tl::unexpected(object_name.error());
    return store_->remove(*object_name, call);
}

Result<runlog::Swept> StoreWork::sweep(rounds::Sweep const& order) const
{
    chain::RunObjects const objects(*store_, layout_->run);
    auto const plan = maintain::plan_sweep(objects, order.now, {order.sweep_after});
    if (!plan) return tl::unexpected(plan.error());
    auto const result = maintain::carry_out(objects, *plan);
    if (!result.errors.empty()) return tl::unexpected(result.errors.front());
    return runlog::Swept{result.deleted, result.freed};
}

}  // namespace curtail::train
