// SPDX-License-Identifier: Apache-2.0
#include "train/site_ranks.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "core/clock.hpp"

namespace curtail::train {

void SiteRanks::send(Command command)
{
    collectives_.broadcast(std::as_writable_bytes(std::span(&command, 1)), 0);
    last_command_ = monotonic_now();
}

void SiteRanks::heartbeat()
{
    if (monotonic_now() - last_command_ >= Seconds{1}) send({CommandType::heartbeat, 0, {}});
}

Result<StepOutcome> SiteRanks::step(rounds::Ranges const& blocks, Tokens progress)
{
    send({CommandType::step, static_cast<std::int64_t>(blocks.list().size()), progress});
    auto made = step_on_all(blocks.list(), progress);
    if (made && !made->stop_requested) pause(*made);
    return made;
}

void SiteRanks::pause(StepOutcome& outcome)
{
    using Clock = std::chrono::steady_clock;
    constexpr FractionalSeconds longest_nap{0.02};  // the delay of a stop request
    auto const began = Clock::now();
    auto const step = outcome.duration;
    for (;;) {
        auto const left = engine_.step_at_least() - outcome.duration;
        if (left.count() <= 0 || stop_.raised()) return;
        std::this_thread::sleep_for(std::min(left, longest_nap));
        heartbeat();
        outcome.duration = step + (Clock::now() - began);
    }
}

Result<StepOutcome> SiteRanks::step_on_all(std::vector<rounds::BlockRange> ranges, Tokens progress)
{
    collectives_.broadcast(std::as_writable_bytes(std::span(ranges)), 0);
    rounds::Ranges blocks;
    for (auto const& range : ranges) blocks += rounds::Ranges{range};
    return engine_.step(blocks, progress, [this] { return stop_.raised(); });
}

void SiteRanks::broadcast_weights(std::span<float const> values)
{
    auto const weights = engine_.weights().values();
    if (values.size() != weights.size()) throw std::logic_error("weights and model differ in size");
    std::copy(values.begin(), values.end(), weights.begin());
    send({CommandType::weights, 0, {}});
    copy_weights();
}

void SiteRanks::copy_weights()
{
    collectives_.broadcast(std::as_writable_bytes(engine_.weights().values()), 0);
    engine_.weights_replaced();
}

void SiteRanks::broadcast_optimizer(optim::OptimizerState const& state)
{
    send({CommandType::optimizer, state.steps, {}});
    copy_optimizer(state);
}

void SiteRanks::copy_optimizer(optim::OptimizerState state)
{
    // Sorting by name gives all ranks the same order.
    std::sort(state.tensors.begin(), state.tensors.end(),
              [](auto const& a, auto const& b) { return a.name < b.name; });
    for (auto& named : state.tensors) {
        named.tensor = named.tensor.clone();
        collectives_.broadcast(
            {static_cast<std::byte*>(named.tensor.mutable_data_ptr()), named.tensor.nbytes()}, 0);
    }
    if (auto restored = engine_.optimizer().restore(state); !restored)
        throw std::runtime_error(restored.error().message());
}

optim::OptimizerState SiteRanks::gather_optimizer()
{
    send({CommandType::gather, 0, {}});
    return sum_optimizer();
}

// Where another rank has the state, this one has zeros.
optim::OptimizerState SiteRanks::sum_optimizer()
{
    auto state = engine_.optimizer().state();
    for (auto& [name, tensor] : state.tensors)
        collectives_.all_reduce_sum(std::span<float>(tensor.mutable_data_ptr<float>(),
                                                     static_cast<std::size_t>(tensor.numel())));
    return state;
}

void SiteRanks::reset_optimizer()
{
    send({CommandType::reset, 0, {}});
    engine_.optimizer().reset();
}

void SiteRanks::barrier()
{
    send({CommandType::barrier, 0, {}});
    collectives_.barrier();
}

void SiteRanks::dismiss() { send({CommandType::dismiss, 0, {}}); }

void SiteRanks::follow()
{
    Command command{};
    do {
        collectives_.broadcast(std::as_writable_bytes(std::span(&command, 1)), 0);
        carry_out(command);
    } while (command.type != CommandType::dismiss);
}

void SiteRanks::carry_out(Command command)
{
    switch (command.type) {
        case CommandType::step:  // the leader handles a failure
            (void)step_on_all(
                std::vector<rounds::BlockRange>(static_cast<std::size_t>(command.number)),
                command.progress);
            break;
        case CommandType::weights:
            copy_weights();
            break;
        case CommandType::optimizer: {
            auto state = optim::new_state(engine_.weights().shape());
            state.steps = command.number;
            copy_optimizer(std::move(state));
            break;
        }
        case CommandType::gather:
            (void)sum_optimizer();
            break;
        case CommandType::reset:
            engine_.optimizer().reset();
            break;
        case CommandType::barrier:
            collectives_.barrier();
            break;
        case CommandType::heartbeat:
        case CommandType::dismiss:
            break;
    }
}

}  // namespace curtail::train
