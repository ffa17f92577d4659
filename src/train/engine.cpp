// SPDX-License-Identifier: Apache-2.0
#include "train/engine.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "train/fail_together.hpp"

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

}  // namespace

Engine::Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
               model::Parameters weights)
    : run_(run),
      loader_(loader),
      collectives_(collectives),
      gpt_(std::move(weights)),
      optimizer_(run.model, run.optimizer, run.training.batch_tokens)
{
}

Result<StepOutcome> Engine::step(rounds::Ranges const& blocks, Tokens progress, bool stop_here)
{
    auto const started = std::chrono::steady_clock::now();
    auto const tokens = blocks.count() * run_.rounds.block_tokens;
    gpt_.zero_gradients();
    auto const mine = accumulate(numbers_of(blocks));
    collectives_.all_reduce_sum(gpt_.gradients().values());
    // Sum stop requests and failures along with the loss: no message of their own per step.
    std::array<double, 3> sums{mine ? mine->sum : 0, stop_here ? 1.0 : 0.0, mine ? 0.0 : 1.0};
    collectives_.all_reduce_sum(std::span<double>(sums));
    if (sums[2] > 0) {
        auto failed = fail_together(collectives_, mine.map([](auto const&) {}));
        return tl::unexpected(failed.error());
    }
    double const loss = sums[0] / static_cast<double>(tokens);
    auto const at = optim::progress_of(progress, run_.optimizer, run_.training.batch_tokens);
    if (std::isfinite(loss)) optimizer_.step(gpt_.weights(), gpt_.gradients(), at);
    else optimizer_.reset();
    return StepOutcome{loss, tokens, std::chrono::steady_clock::now() - started,
                       optimizer_.rates(at).lr_factor, sums[1] > 0};
}

Result<model::LossSum> Engine::accumulate(std::vector<std::int64_t> const& blocks)
{
    auto const rows = static_cast<std::int64_t>(blocks.size()) * loader_.rows_per_block();
    double const scale = 1.0 / static_cast<double>(rows * run_.model.sequence);
    // `scale` makes uneven shares of the ranks count correctly.
    auto const share = data::rows_of_rank(rows, collectives_.rank(), collectives_.size());
    model::LossSum sum;
    for (auto row = share.begin; row < share.end; row += run_.training.device_batch_rows) {
        auto batch =
            loader_.rows(blocks, {row, std::min(row + run_.training.device_batch_rows, share.end)});
        if (!batch) return tl::unexpected(batch.error());
        sum += gpt_.accumulate_gradients(as_tensor(batch->inputs, *batch),
                                         as_tensor(batch->targets, *batch), scale);
    }
    return sum;
}

}  // namespace curtail::train
