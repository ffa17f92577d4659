// SPDX-License-Identifier: Apache-2.0
#include "train/engine.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "train/fail_together.hpp"
#include "train/micro_batches.hpp"

namespace curtail::train {
namespace {

std::vector<std::int64_t> numbers_of(rounds::Ranges const& blocks)
{
    std::vector<std::int64_t> all;
    for (auto const& range : blocks.list())
        for (auto block = range.begin; block < range.end; ++block) all.push_back(block);
    return all;
}

// (B, T) int64, sharing the batch's memory.
at::Tensor as_tensor(std::vector<std::int64_t>& values, data::Batch const& batch)
{
    return at::from_blob(values.data(), {batch.rows, batch.sequence}, at::kLong);
}

double sum_of_squares(std::span<at::Tensor const> tensors)
{
    double sum = 0;
    for (auto const& tensor : tensors) {
        auto const norm = at::linalg_vector_norm(tensor).item<double>();
        sum += norm * norm;
    }
    return sum;
}

// Turns an exception, such as that of an allocation, into an error: all ranks must go on together.
template <class Body>
auto without_exceptions(Body const& body) -> decltype(body())
{
    try {
        return body();
    } catch (std::exception const& broken) {
        return fail(ExitCode::software, "cannot compute a step", broken.what(),
                    "if memory is short, lower training.device_batch_rows; else report this");
    }
}

// Loads the masters, and returns the weights in the type in which the model computes.
model::Parameters loaded(ShardExchange& exchange, config::Training const& training,
                         model::Parameters weights)
{
    exchange.load(weights);
    if (training.precision != config::Precision::bf16) return weights;
    return weights.to(at::kCPU, at::kBFloat16);
}

}  // namespace

Engine::Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
               model::Parameters weights)
    : run_(run),
      loader_(loader),
      collectives_(collectives),
      exchange_(optim::deal_shards(run.model, collectives.size()), collectives),
      gpt_(loaded(exchange_, run.training, std::move(weights)), run.training.checkpoint_activations
                                                                    ? model::Activations::recompute
                                                                    : model::Activations::keep),
      optimizer_(run.model, run.optimizer, run.training.batch_tokens,
                 optim::deal_shards(run.model, collectives.size()).of(collectives.rank()))
{
}

Result<StepOutcome> Engine::step(rounds::Ranges const& blocks, Tokens progress,
                                 std::function<bool()> const& stop_here)
{
    auto const started = std::chrono::steady_clock::now();
    timer_.begin_step();
    gpt_.zero_gradients();
    auto const mine = accumulate(numbers_of(blocks), stop_here);
    auto const gradients = exchange_.sum(gpt_.gradients());
    // The gradients are those of the mean over the whole batch.
    if (mine.blocks > 0 && mine.blocks < blocks.count())
        for (auto gradient : gradients)
            gradient.mul_(static_cast<double>(blocks.count()) / static_cast<double>(mine.blocks));
    // Sum stop requests and failures along with the loss: no message of their own per step.
    std::array<double, 4> sums{mine.loss ? mine.loss->sum : 0, mine.stop ? 1.0 : 0.0,
                               mine.loss ? 0.0 : 1.0, sum_of_squares(gradients)};
    collectives_.all_reduce_sum(std::span<double>(sums));
    timer_.end(Phase::exchange);
    if (sums[2] > 0) return all_fail(mine.loss.map([](auto const&) {}));
    StepOutcome outcome;
    outcome.blocks = blocks.lowest(mine.blocks);
    outcome.tokens = mine.blocks * run_.rounds.block_tokens;
    outcome.stop_requested = sums[1] > 0;
    if (mine.blocks == 0) return outcome;
    outcome.loss = sums[0] / static_cast<double>(outcome.tokens.value);
    outcome.gradient_norm = std::sqrt(sums[3]);
    outcome.finite = std::isfinite(outcome.loss) && std::isfinite(sums[3]);
    auto const at = optim::progress_of(progress, run_.optimizer, run_.training.batch_tokens);
    double const share =
        std::min(1.0, static_cast<double>(mine.blocks) / static_cast<double>(blocks_per_step()));
    outcome.lr_factor = optimizer_.rates(at).lr_factor * share;
    if (outcome.finite) {
        if (auto all = fail_together(collectives_, update(gradients, at, share)); !all)
            return tl::unexpected(all.error());
        timer_.end(Phase::update);
        exchange_.distribute(gpt_.weights());
        timer_.end(Phase::exchange);
    }
    outcome.phases = timer_.phases();
    timer_.end_step();
    outcome.duration = std::chrono::steady_clock::now() - started;
    return outcome;
}

std::vector<optim::Optimizer::StatePart> Engine::masters() const
{
    auto const places = model::parameter_places(run_.model);
    auto const& pieces = optimizer_.pieces();
    std::vector<optim::Optimizer::StatePart> parts;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        auto const& place = places[pieces[i].parameter];
        parts.push_back(
            {place.name, place.shape, pieces[i].offset - place.offset, exchange_.masters()[i]});
    }
    return parts;
}

tl::unexpected<Error> Engine::all_fail(Result<void> const& mine)
{
    return tl::unexpected(fail_together(collectives_, mine).error());
}

// Changes the masters only: if this fails on one rank, all ranks keep the weights of the last step.
Result<void> Engine::update(std::span<at::Tensor const> gradients, optim::Progress at,
                            double lr_share)
{
    return without_exceptions([&]() -> Result<void> {
        optimizer_.step(exchange_.masters(), gradients, at, lr_share);
        return {};
    });
}

Engine::Accumulated Engine::accumulate(std::vector<std::int64_t> const& blocks,
                                       std::function<bool()> const& stop_here)
{
    Accumulated mine{model::LossSum{}, 0, false};
    BatchShape const shape{std::ssize(blocks), loader_.rows_per_block(), collectives_.size(),
                           run_.training.device_batch_rows};
    auto const all = micro_batches(shape);
    for (auto const& micro : all) {
        auto const rows = micro.share_of(collectives_.rank(), collectives_.size());
        auto const sum = without_exceptions(
            [&] { return mine.loss ? accumulate_rows(blocks, rows) : mine.loss; });
        if (sum) *mine.loss += *sum;
        else mine.loss = sum;
        mine.stop = stop_here();
        if (!micro.ends_block) continue;
        mine.blocks = micro.rows.end / shape.rows_per_block;
        bool const last = micro.rows.end == all.back().rows.end;
        if (last || collectives_.all_reduce_max(mine.stop || !mine.loss ? 1 : 0) > 0) break;
    }
    return mine;
}

Result<model::LossSum> Engine::accumulate_rows(std::vector<std::int64_t> const& blocks,
                                               data::RowRange rows)
{
    if (rows.size() == 0) return model::LossSum{};
    auto batch = loader_.rows(blocks, rows);
    timer_.end(Phase::data);
    if (!batch) return tl::unexpected(batch.error());
    auto const batch_rows = std::ssize(blocks) * loader_.rows_per_block();
    // `scale` makes uneven shares of the ranks count correctly.
    double const scale = 1.0 / static_cast<double>(batch_rows * run_.model.sequence);
    auto const sum = gpt_.accumulate_gradients(as_tensor(batch->inputs, *batch),
                                               as_tensor(batch->targets, *batch), scale);
    timer_.end(Phase::compute);
    return sum;
}

}  // namespace curtail::train
