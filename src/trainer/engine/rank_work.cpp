// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/rank_work.hpp"

#include <ATen/ops/sum.h>

#include <algorithm>
#include <array>

namespace curtail::trainer {
namespace {

// A sum of the bit patterns of the values, in which the order of the slices counts.
std::uint64_t checksum(at::Tensor const& values)
{
    constexpr std::int64_t slice = std::int64_t{1} << 22;
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;
    auto const bits_type = values.element_size() == 2 ? at::kShort : at::kInt;
    std::uint64_t sum = 0;
    for (std::int64_t first = 0; first < values.numel(); first += slice) {
        auto const part = values.narrow(0, first, std::min(slice, values.numel() - first));
        auto const bits = part.view(bits_type).sum(at::kLong).item<std::int64_t>();
        sum = sum * factor + static_cast<std::uint64_t>(bits);
    }
    return sum;
}

}  // namespace

void RankWork::load(std::span<float const> theta)
{
    engine_.finish_steps();
    engine_.free_activations();
    auto& exchange = engine_.exchange();
    exchange.scatter(theta, exchange.master_values());
    engine_.masters_replaced();
    work_.begin(exchange.master_values());
}

CutValues RankWork::cut(Seq seq, bool with_anchor)
{
    auto room = begin_to_make_room();
    auto room_for_anchor = with_anchor ? begin_to_make_room() : std::future<std::vector<float>>();
    engine_.finish_steps();
    engine_.free_activations();
    compare_weights();
    auto const& x = engine_.exchange().master_values();
    auto const mine = work_.begin_cut(seq, x);
    std::array<double, 2> sums{mine.sumsq, static_cast<double>(mine.nonfinite)};
    collectives_.all_reduce_sum(std::span<double>(sums));
    bool const good = sums[1] == 0;
    work_.end_cut(seq, good, x);
    if (!good) {
        engine_.optimizer().reset();
        engine_.masters_replaced();
    }
    return {gathered(work_.delta(seq), std::move(room)),
            with_anchor ? gathered(work_.anchor(), std::move(room_for_anchor)) : nullptr,
            {good ? sums[0] : 0, static_cast<std::int64_t>(sums[1])}};
}

// A difference means that memory or a message is damaged: nothing can be contributed any more.
void RankWork::compare_weights()
{
    if (collectives_.size() == 1) return;
    auto const& weights = engine_.weights();
    auto const mine = checksum(weights.flat()) + checksum(weights.scalars().view({-1}));
    auto leaders = mine;
    collectives_.broadcast(std::as_writable_bytes(std::span(&leaders, 1)), 0);
    int const differs = collectives_.all_reduce_max(mine == leaders ? 0 : collectives_.rank());
    if (differs > 0)
        throw comm::CommError("the weights of rank " + std::to_string(differs) +
                                  " differ from those of rank 0; check the memory and the "
                                  "interconnect of the nodes",
                              ExitCode::unavailable);
}

// On the leader, a thread makes room for all values. A vector fills new memory with zeros, which
// takes as long as gathering; meanwhile, a device ends its step.
std::future<std::vector<float>> RankWork::begin_to_make_room() const
{
    auto const leads = collectives_.rank() == 0;
    auto const count = leads ? static_cast<std::size_t>(engine_.weights().numel()) : 0;
    return std::async([this, count] {
        if (count == 0) return std::vector<float>();
        auto whole = memory_.take(count);
        whole.resize(count);
        return whole;
    });
}

Values RankWork::gathered(at::Tensor const& shard, std::future<std::vector<float>> room)
{
    auto whole = room.get();
    engine_.exchange().gather(shard, whole);
    return whole.empty() ? nullptr : memory_.share(std::move(whole));
}

void RankWork::adopt(std::span<float const> theta, std::vector<Seq> const& dropped, bool worked)
{
    engine_.finish_steps();
    engine_.free_activations();
    auto& exchange = engine_.exchange();
    work_.forget(dropped);
    auto const shard = work_.room(exchange.master_values());
    exchange.scatter(theta, shard);
    work_.adopt(shard, worked, exchange.master_values());
    engine_.masters_replaced();
}

}  // namespace curtail::trainer
