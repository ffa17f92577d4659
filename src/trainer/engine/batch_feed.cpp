// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/batch_feed.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>

namespace curtail::trainer {
namespace {

at::Tensor as_tensor(std::vector<std::int64_t>& values, data::Batch const& batch)
{
    return at::from_blob(values.data(), {batch.rows, batch.sequence}, at::kLong);
}

}  // namespace

BatchFeed::BatchFeed(c10::Device device) : device_(device)
{
    if (!device.is_cpu())
        copies_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

BatchFeed::Slot& BatchFeed::next_slot(data::Batch const& batch)
{
    auto& slot = slots_[loaded_++ % slots_.size()];
    if (slot.host.defined() && slot.host.size(1) == batch.rows &&
        slot.host.size(2) == batch.sequence)
        return slot;
    auto const options = at::TensorOptions(at::kLong);
    slot.host = at::empty({2, batch.rows, batch.sequence}, options.pinned_memory(true));
    slot.device = at::empty({2, batch.rows, batch.sequence}, options.device(device_));
    // Work that is still enqueued may use this memory.
    c10::Event allocated(device_.type());
    allocated.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    allocated.block(*copies_);
    return slot;
}

BatchFeed::Tensors BatchFeed::load(data::Batch batch)
{
    batch_ = std::move(batch);
    if (!copies_) return {as_tensor(batch_.inputs, batch_), as_tensor(batch_.targets, batch_)};
    auto& slot = next_slot(batch_);
    auto* const to = slot.host.mutable_data_ptr<std::int64_t>();
    std::copy(batch_.targets.begin(), batch_.targets.end(),
              std::copy(batch_.inputs.begin(), batch_.inputs.end(), to));
    c10::Event copied(device_.type());
    {
        c10::StreamGuard const guard(*copies_);
        slot.device.copy_(slot.host, true);
        copied.record(*copies_);
    }
    copied.block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    return {slot.device[0], slot.device[1]};
}

}  // namespace curtail::trainer
