// SPDX-License-Identifier: Apache-2.0
#include "train/engine.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>

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

}  // namespace

Engine::Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
               model::Parameters weights)
    : run_(run),
      loader_(loader),
      collectives_(collectives),
      gpt_(std::move(weights)),
      exchange_(optim::deal_shards(run.model, collectives.size()), collectives),
      optimizer_(run.model, run.optimizer, run.training.batch_tokens,
                 optim::deal_shards(run.model, collectives.size()).of(collectives.rank()))
{
    weights_replaced();
}

Result<StepOutcome> Engine::step(rounds::Ranges const& blocks, Tokens progress, bool stop_here)
{
    auto const started = std::chrono::steady_clock::now();
    auto const tokens = blocks.count() * run_.rounds.block_tokens;
    gpt_.zero_gradients();
    auto const mine = accumulate(numbers_of(blocks));
    auto const gradients = exchange_.sum(gpt_.gradients());
    // Sum stop requests and failures along with the loss: no message of their own per step.
    std::array<double, 4> sums{mine ? mine->sum : 0, stop_here ? 1.0 : 0.0, mine ? 0.0 : 1.0,
                               sum_of_squares(gradients)};
    collectives_.all_reduce_sum(std::span<double>(sums));
    if (sums[2] > 0) return all_fail(mine.map([](auto const&) {}));
    double const loss = sums[0] / static_cast<double>(tokens);
    auto const at = optim::progress_of(progress, run_.optimizer, run_.training.batch_tokens);
    bool const finite = std::isfinite(loss) && std::isfinite(sums[3]);
    if (finite) {
        if (auto all = fail_together(collectives_, update(gradients, at)); !all)
            return tl::unexpected(all.error());
        exchange_.distribute(gpt_.weights());
    }
    return StepOutcome{loss,
                       finite,
                       tokens,
                       std::chrono::steady_clock::now() - started,
                       optimizer_.rates(at).lr_factor,
                       sums[1] > 0};
}

tl::unexpected<Error> Engine::all_fail(Result<void> const& mine)
{
    return tl::unexpected(fail_together(collectives_, mine).error());
}

// Changes the masters only: if this fails on one rank, all ranks keep the weights of the last step.
Result<void> Engine::update(std::span<at::Tensor const> gradients, optim::Progress at)
{
    return without_exceptions([&]() -> Result<void> {
        optimizer_.step(exchange_.masters(), gradients, at);
        return {};
    });
}

Result<model::LossSum> Engine::accumulate(std::vector<std::int64_t> const& blocks)
{
    return without_exceptions([&] { return read_and_accumulate(blocks); });
}

Result<model::LossSum> Engine::read_and_accumulate(std::vector<std::int64_t> const& blocks)
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
