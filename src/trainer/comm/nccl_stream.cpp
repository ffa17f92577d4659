// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/nccl_stream.hpp"

#include <algorithm>
#include <string>

#include "trainer/comm/collectives.hpp"

namespace curtail::comm {

NcclStream::NcclStream(NcclApi const& api, CudaStream* compute, Patience const& patience)
    : api_(api), compute_(compute), patience_(patience)
{
    require(api_.stream_create(&stream_), "make a stream");
    try {
        order_ = new_event();
    } catch (CommError const&) {
        (void)api_.stream_destroy(stream_);
        throw;
    }
}

NcclStream::~NcclStream()
{
    if (abandoned_) return;
    for (auto* const event : events_) (void)api_.event_destroy(event);
    (void)api_.stream_destroy(stream_);
}

void NcclStream::follow_compute()
{
    require(api_.event_record(order_, compute_), "wait for the compute stream");
    require(api_.stream_wait_event(stream_, order_), "wait for the compute stream");
}

void NcclStream::precede_compute()
{
    require(api_.event_record(order_, stream_), "let the compute stream wait");
    require(api_.stream_wait_event(compute_, order_), "let the compute stream wait");
}

void NcclStream::precede_compute(std::uint64_t operations)
{
    auto const done = enqueued_ - watched_.size();
    if (operations <= done) return;
    auto const last = std::min<std::uint64_t>(operations - done, watched_.size()) - 1;
    require(api_.stream_wait_event(compute_, watched_[last].done), "let the compute stream wait");
}

void NcclStream::watch(char const* operation, MonoTime now)
{
    if (unused_.empty()) unused_.push_back(new_event());
    require(api_.event_record(unused_.back(), stream_), operation);
    watched_.push_back({operation, unused_.back()});
    unused_.pop_back();
    ++enqueued_;
    if (!timer_) timer_.emplace(patience_, now);
}

bool NcclStream::idle(MonoTime now)
{
    while (!watched_.empty() && done(watched_.front())) {
        unused_.push_back(watched_.front().done);
        watched_.pop_front();
        timer_.reset();
    }
    if (watched_.empty()) return true;
    if (!timer_) timer_.emplace(patience_, now);
    if (timer_->over(now))
        throw CommTimeout(std::string("cannot ") + watched_.front().operation + ": " +
                          late_rank(patience_));
    return false;
}

CudaEvent* NcclStream::new_event()
{
    CudaEvent* event = nullptr;
    require(api_.event_create(&event), "make an event");
    events_.push_back(event);
    return event;
}

bool NcclStream::done(WatchedOperation const& watched) const
{
    auto const result = api_.event_query(watched.done);
    if (result == CudaResult::not_ready) return false;
    require(result, watched.operation);
    return true;
}

void NcclStream::require(CudaResult result, char const* operation) const
{
    if (result != CudaResult::success)
        throw CommError(std::string("cannot ") + operation +
                        ": CUDA: " + api_.cuda_error_text(result));
}

}  // namespace curtail::comm
