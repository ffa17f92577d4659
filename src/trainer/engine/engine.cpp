// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/engine.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>

#include "base/core/clock.hpp"
#include "trainer/engine/fail_together.hpp"
#include "trainer/model/optim/sum_of_squares.hpp"

namespace curtail::trainer {
namespace {

std::vector<std::int64_t> numbers_of(protocol::Ranges const& blocks)
{
    std::vector<std::int64_t> all;
    for (auto const& range : blocks.list())
        for (auto block = range.begin; block < range.end; ++block) all.push_back(block);
    return all;
}

// Loads the masters, and returns the weights where and in the type in which the model computes.
model::Parameters loaded(ShardExchange& exchange, model::Parameters weights, c10::Device device,
                         at::ScalarType type)
{
    exchange.load(weights);
    auto const& flat = weights.flat();
    if (flat.device() == device && flat.scalar_type() == type) return weights;
    return weights.to(device, type);
}

// The most that tensors have taken of a GPU.
std::optional<Bytes> peak_memory(c10::Device device)
{
    if (device.is_cpu()) return std::nullopt;
    auto const stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
    constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return Bytes{stats.allocated_bytes[all].peak};
}

at::Tensor zero(c10::Device device, at::ScalarType type)
{
    return at::zeros({}, at::TensorOptions(type).device(device));
}

}  // namespace

at::ScalarType type_of(config::TrainingSettings const& training, c10::Device device)
{
    auto const usual = device.is_cpu() ? config::Precision::fp32 : config::Precision::bf16;
    return training.precision.value_or(usual) == config::Precision::bf16 ? at::kBFloat16
                                                                         : at::kFloat;
}

Engine::Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
               model::Parameters weights, EngineOptions options)
    : run_(run),
      loader_(loader),
      collectives_(collectives),
      device_(options.device),
      unknown_outcomes_(options.unknown_outcomes),
      update_tried_(!options.try_update),
      whole_steps_only_(options.whole_steps_only),
      take_energy_j_(std::move(options.take_energy_j)),
      exchange_(optim::deal_shards(run.model, collectives.size()), collectives, device_,
                type_of(run.training, device_)),
      gpt_(loaded(exchange_, std::move(weights), device_, type_of(run.training, device_)),
           options.operators ? std::move(*options.operators)
                             : model::Operators{model::kernels_for(type_of(run.training, device_),
                                                                   device_.type())},
           run.training.checkpoint_activations ? model::Activations::recompute
                                               : model::Activations::keep),
      optimizer_(run.model, run.optimizer, run.training.batch_tokens,
                 optim::deal_shards(run.model, collectives.size()).of(collectives.rank()), device_),
      timer_(device_),
      feed_(device_),
      device_rows_(options.device_rows > 0 ? options.device_rows : run.training.device_batch_rows)
{
}

Result<BegunStep> Engine::step(protocol::Ranges const& blocks, optim::RunProgress progress,
                               std::function<bool()> const& stop_here)
{
    timer_.begin_step();
    auto mine = accumulate_in_memory(numbers_of(blocks), stop_here);
    if (whole_steps_only_ && mine.blocks < blocks.count()) mine.blocks = 0;
    if (mine.next >= Next::use_less_memory)
        return tl::unexpected(fail_together(collectives_, mine.status).error());
    BegunStep const begun{blocks.lowest(mine.blocks), mine.next == Next::stop};
    if (mine.blocks == 0) return begun;
    // The gradients are those of the mean over the whole batch.
    if (mine.blocks < blocks.count())
        for (auto const& gradient : mine.gradients)
            gradient.mul_(static_cast<double>(blocks.count()) / static_cast<double>(mine.blocks));
    auto const sums = sums_of(mine.loss, mine.gradients);
    if (exchange_.overlaps()) limit_backlog(0);
    timer_.end(StepPhase::exchange);
    auto const budget_progress =
        optim::progress_of(progress, run_.optimizer, run_.training.batch_tokens);
    double const share =
        std::min(1.0, static_cast<double>(mine.blocks) / static_cast<double>(blocks_per_step()));
    double const lr_factor = optimizer_.rates(budget_progress).lr_factor * share;
    auto const updates = update_on_all(mine.gradients, budget_progress, share, sums);
    if (!updates) return tl::unexpected(updates.error());
    StepOutcome outcome{.blocks = begun.blocks,
                        .progress = progress,
                        .tokens = mine.blocks * run_.rounds.block_tokens,
                        .lr_factor = lr_factor,
                        .device_rows = device_rows_,
                        .gpu_memory = peak_memory(device_),
                        .new_shapes = shapes_.end_step()};
    auto const on_host = at::cat({sums, *updates}).to(at::kCPU, at::kFloat, true);
    unknown_.push_back({std::move(outcome), on_host, DeviceMark::here(device_), timer_.times()});
    learn_outcomes(unknown_outcomes_);
    return begun;
}

std::optional<StepOutcome> Engine::take_outcome()
{
    if (outcomes_.empty()) return std::nullopt;
    auto outcome = std::move(outcomes_.front());
    outcomes_.pop_front();
    return outcome;
}

void Engine::finish_steps()
{
    learn_outcomes(0);
    exchange_.receive_all(gpt_.weights());
    collectives_.synchronize();
}

void Engine::free_activations()
{
    if (!device_.is_cpu()) gpt_.free_activations();
}

void Engine::masters_replaced()
{
    exchange_.distribute(gpt_.weights());
    exchange_.receive_all(gpt_.weights());
    collectives_.synchronize();
}

std::vector<optim::Optimizer::StatePart> Engine::masters() const
{
    auto const places = model::parameter_places(run_.model);
    auto const& ranges = optimizer_.ranges();
    std::vector<optim::Optimizer::StatePart> parts;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        auto const& place = places[ranges[i].parameter];
        parts.push_back(
            {place.name, place.shape, ranges[i].offset - place.offset, exchange_.masters()[i]});
    }
    return parts;
}

// The sum of the losses, and the sum of the squares of the gradients, over all ranks.
at::Tensor Engine::sums_of(at::Tensor const& loss, std::span<at::Tensor const> gradients)
{
    c10::InferenceMode const no_autograd;
    auto squares = zero(device_, at::kDouble);
    for (auto const& gradient : gradients) squares.add_(optim::sum_of_squares(gradient));
    return over_ranks(at::stack({loss, squares}));
}

// Adds up `sums` over all ranks, in float32.
at::Tensor Engine::over_ranks(at::Tensor const& sums)
{
    auto total = sums.to(at::kFloat);
    if (collectives_.size() == 1) return total;
    collectives_.all_reduce_sum(
        std::span<float>(total.mutable_data_ptr<float>(), static_cast<std::size_t>(total.numel())));
    collectives_.finish();
    return total;
}

// Changes the masters only. Does nothing if a sum is not finite. The device decides that on a GPU,
// so that the host need not wait for it. Returns the sum of the squares of the changes.
Result<at::Tensor> Engine::update(std::span<at::Tensor const> gradients,
                                  optim::BudgetProgress budget_progress, double lr_share,
                                  at::Tensor const& sums)
{
    auto squares = zero(device_, at::kDouble);
    auto done = without_exceptions([&]() -> Result<void> {
        auto const skip = at::isfinite(sums).all().logical_not().to(at::kFloat);
        if (!skip.is_cpu())
            squares =
                optimizer_.step(exchange_.masters(), gradients, budget_progress, lr_share, {skip});
        else if (skip.item<float>() == 0)
            squares = optimizer_.step(exchange_.masters(), gradients, budget_progress, lr_share);
        return {};
    });
    if (!done) return tl::unexpected(done.error().error);
    return squares;
}

// Updates the weights of all ranks or, if the update fails on a rank, of none. After a failure, the
// masters are those of the last step, with the digits that the weights have. Returns the sum of the
// squares of the changes, and the energy, over all ranks.
Result<at::Tensor> Engine::update_on_all(std::span<at::Tensor const> gradients,
                                         optim::BudgetProgress budget_progress, double lr_share,
                                         at::Tensor const& sums)
{
    auto const mine = update(gradients, budget_progress, lr_share, sums);
    auto const all = fail_together(collectives_, mine.map([](at::Tensor const&) {}));
    timer_.end(StepPhase::update);
    if (!all) {
        weights_replaced();
        optimizer_.reset();
        return tl::unexpected(all.error());
    }
    auto const joules = take_energy_j_ ? take_energy_j_() : std::nullopt;
    auto const energy =
        at::full({}, joules.value_or(std::nan("")), at::TensorOptions(at::kDouble).device(device_));
    auto total = over_ranks(at::stack({*mine, energy}));
    exchange_.distribute(gpt_.weights());
    timer_.end(StepPhase::exchange);
    return total;
}

void Engine::learn_outcomes(std::size_t unknown)
{
    for (; unknown_.size() > unknown; unknown_.pop_front()) {
        auto& [outcome, sums, done, times] = unknown_.front();
        collectives_.wait_until([&done = done] { return done.reached(); });
        note_ends();
        auto const* const values = sums.const_data_ptr<float>();
        outcome.loss = values[0] / static_cast<double>(outcome.tokens.value);
        outcome.gradient_norm = std::sqrt(static_cast<double>(values[1]));
        outcome.update_norm = std::sqrt(static_cast<double>(values[2]));
        if (std::isfinite(values[3])) outcome.energy_j = values[3];
        outcome.finite = std::isfinite(values[0]) && std::isfinite(values[1]);
        outcome.phases = times.phases();
        outcome.duration = times.duration();
        timer_.record(times);
        outcomes_.push_back(std::move(outcome));
    }
}

// The host learns the outcome later, but notes the end at the next opportunity.
void Engine::note_ends()
{
    for (auto& unknown : unknown_)
        if (!unknown.outcome.ended && unknown.done.reached())
            unknown.outcome.ended = {SystemClock{}.now(), monotonic_now()};
}

}  // namespace curtail::trainer
