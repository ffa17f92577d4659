// SPDX-License-Identifier: Apache-2.0
// The part of Engine that computes the gradients of a batch.
#include <ATen/ops/zeros.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

#include "trainer/engine/engine.hpp"
#include "trainer/engine/micro_batches.hpp"

namespace curtail::trainer {

// Adds the gradients of the batch up over the ranks.
Engine::PartialBatch Engine::accumulate_in_memory(std::vector<std::int64_t> const& blocks,
                                                  std::function<bool()> const& stop_here)
{
    for (;;) {
        gpt_.zero_gradients();
        auto mine = accumulate(blocks, stop_here);
        exchange_.receive_all(gpt_.weights());
        mine.gradients = exchange_.sum(gpt_.gradients());
        if (mine.next == Next::go_on && !update_tried_) try_update(mine);
        if (mine.next != Next::use_less_memory || device_rows_ == 1) return mine;
        gpt_.free_activations();
        collectives_.synchronize();
        if (!device_.is_cpu()) c10::getDeviceAllocator(device_.type())->emptyCache();
        auto const rows = std::ssize(blocks) * loader_.rows_per_block();
        auto const share = (rows + collectives_.size() - 1) / collectives_.size();
        device_rows_ = (std::min(device_rows_, share) + 1) / 2;
    }
}

Engine::PartialBatch Engine::accumulate(std::vector<std::int64_t> const& blocks,
                                        std::function<bool()> const& stop_here)
{
    PartialBatch mine{.loss = at::zeros({}, at::TensorOptions(at::kDouble).device(device_))};
    BatchShape const shape{std::ssize(blocks), loader_.rows_per_block(), collectives_.size(),
                           device_rows_};
    auto const all = micro_batches(shape);
    for (auto const& micro : all) {
        auto const rows = micro.share_of(collectives_.rank(), collectives_.size());
        bool const last = micro.rows.end == all.back().rows.end;
        auto batch = read_and_wait(blocks, rows, mine);
        if (micro.begins_block &&
            !go_on_after(micro.rows.begin / shape.rows_per_block, stop_here, mine))
            return mine;
        if (batch) {
            shapes_.computed(rows.size());
            compute(std::move(*batch), std::ssize(blocks), last, mine);
        }
        // The other ranks begin their sums during the last pass. A rank without rows, or whose pass
        // failed, must not let them wait until it has agreed with them.
        if (last && exchange_.overlaps()) exchange_.begin_sums(gpt_.gradients());
    }
    (void)go_on_after(std::ssize(blocks), stop_here, mine);
    return mine;
}

// Reads `rows`, and waits until the device needs them. Returns nothing if there is nothing to
// compute, or after a failure.
std::optional<data::Batch> Engine::read_and_wait(std::vector<std::int64_t> const& blocks,
                                                 data::RowRange rows, PartialBatch& mine)
{
    std::optional<data::Batch> batch;
    if (mine.next >= Next::use_less_memory || rows.size() == 0) return batch;
    note_failure(without_exceptions([&]() -> Result<void> {
                     auto read = loader_.rows(blocks, rows);
                     if (!read) return tl::unexpected(read.error());
                     pace();
                     batch = std::move(*read);
                     return {};
                 }),
                 mine);
    return batch;
}

// The ranks agree on what they do after `complete` blocks. True if they go on. They ask after the
// wait for the device, which takes most of the time, and before they enqueue more work: a stop
// request need not wait for that work. No rank has then begun the next block, so that the
// gradients are those of whole blocks on all ranks.
bool Engine::go_on_after(std::int64_t complete, std::function<bool()> const& stop_here,
                         PartialBatch& mine)
{
    if (mine.next == Next::go_on && stop_here()) mine.next = Next::stop;
    mine.next = static_cast<Next>(collectives_.all_reduce_max(static_cast<int>(mine.next)));
    if (mine.next < Next::use_less_memory) mine.blocks = complete;
    return mine.next == Next::go_on;
}

// Makes an update that changes nothing. While micro-batches can become smaller, the ranks thus
// learn whether an update fits into memory.
void Engine::try_update(PartialBatch& mine)
{
    auto done = without_exceptions([&]() -> Result<void> {
        optimizer_.try_step(exchange_.masters(), mine.gradients);
        return {};
    });
    note_failure(std::move(done), mine);
    mine.next = static_cast<Next>(collectives_.all_reduce_max(static_cast<int>(mine.next)));
    update_tried_ = mine.next == Next::go_on;
}

// Sets what this rank does next if its part of a step failed.
void Engine::note_failure(tl::expected<void, StepFailure> done, PartialBatch& mine)
{
    if (done) return;
    mine.next = done.error().out_of_memory ? Next::use_less_memory : Next::fail;
    mine.status = tl::unexpected(std::move(done.error().error));
}

// Adds the gradients of the rows in `rows`, of a batch of `blocks` blocks.
void Engine::compute(data::Batch rows, std::int64_t blocks, bool last, PartialBatch& mine)
{
    auto done = without_exceptions([&]() -> Result<void> {
        auto const tensors = feed_.load(std::move(rows));
        timer_.end(StepPhase::data);
        auto const batch_rows = blocks * loader_.rows_per_block();
        // `scale` makes uneven shares of the ranks count correctly.
        double const scale = 1.0 / static_cast<double>(batch_rows * run_.model.sequence);
        mine.loss.add_(gpt_.enqueue_gradients(tensors.inputs, tensors.targets, scale,
                                              exchange_during_pass(last)));
        timer_.end(StepPhase::compute);
        return {};
    });
    micro_batches_.push_back(DeviceMark::here(device_));
    note_failure(std::move(done), mine);
}

// The pass waits for weights that are still under way. The last one of a step sends gradients.
model::PassObserver Engine::exchange_during_pass(bool last)
{
    model::PassObserver observer;
    if (!exchange_.overlaps()) return observer;
    observer.before_use = [this](std::size_t section) {
        limit_backlog(3);
        exchange_.before_use(section, gpt_.weights());
    };
    observer.gradients_complete = [this, last](std::size_t section) {
        limit_backlog(3);
        if (last) exchange_.gradients_complete(section, gpt_.gradients());
    };
    return observer;
}

// Waits until at most `most` parts of the work so far are left. Without this limit, the host could
// enqueue about a thousand pieces while the device waits for another rank. CUDA would then let the
// host wait, without a limit of time.
void Engine::limit_backlog(std::size_t most)
{
    backlog_.push_back(DeviceMark::here(device_));
    for (; backlog_.size() > most; backlog_.pop_front())
        collectives_.wait_until([&] { return backlog_.front().reached(); });
}

// Waits until the device has at most one micro-batch left. With more, it would notice a stop
// request late. With none, it would wait for the host.
void Engine::pace()
{
    for (; micro_batches_.size() > 1; micro_batches_.pop_front())
        collectives_.wait_until([&] { return micro_batches_.front().reached(); });
    note_ends();
}

}  // namespace curtail::trainer
