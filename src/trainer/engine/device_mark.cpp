// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/device_mark.hpp"

namespace curtail::trainer {

DeviceMark DeviceMark::here(c10::Device device)
{
    DeviceMark mark;
    mark.at_ = std::chrono::steady_clock::now();
    if (device.is_cpu()) return mark;
    // Only events of this kind measure time.
    auto event = std::make_shared<c10::Event>(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    event->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
    mark.event_ = std::move(event);
    return mark;
}

bool DeviceMark::reached() const { return !event_ || event_->query(); }

FractionalSeconds DeviceMark::since(DeviceMark const& earlier) const
{
    if (!event_) return at_ - earlier.at_;
    return std::chrono::duration<double, std::milli>(earlier.event_->elapsedTime(*event_));
}

}  // namespace curtail::trainer
