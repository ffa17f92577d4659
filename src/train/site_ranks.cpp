// SPDX-License-Identifier: Apache-2.0
#include "train/crew.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::train {

void Crew::command(Command c)
{
    collectives_.broadcast(std::as_writable_bytes(std::span(&c, 1)), 0);
}

Result<StepOutcome> Crew::step(rounds::Ranges const& blocks, Tokens progress)
{
    command({Act::step, static_cast<std::int64_t>(blocks.list().size()), progress.value});
    return step_together(blocks.list(), progress);
}

Result<StepOutcome> Crew::step_together(std::vector<rounds::BlockRange> ranges, Tokens progress)
{
    collectives_.broadcast(std::as_writable_bytes(std::span(ranges)), 0);
    rounds::Ranges blocks;
    for (auto const& range : ranges) blocks += rounds::Ranges{range};
    return engine_.step(blocks, progress, stop_.raised());
}

void Crew::share_weights(std::span<float const> values)
{
    auto const weights = engine_.weights().values();
    if (values.size() != weights.size())
        throw std::logic_error("weights of another size than the model");
    std::copy(values.begin(), values.end(), weights.begin());
    command({Act::weights, 0, 0});
    weights_together();
}

void Crew::weights_together()
{
    collectives_.broadcast(std::as_writable_bytes(engine_.weights().values()), 0);
}

void Crew::share_optimizer(optim::OptimizerState const& state)
{
    command({Act::optimizer, state.steps, 0});
    optimizer_together(state);
}

void Crew::optimizer_together(optim::OptimizerState state)
{
    // Followers bring buffers of the right names and shapes: those of their own state. By name all
    // ranks have them in one order.
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

void Crew::reset_optimizer()
{
    command({Act::reset, 0, 0});
    engine_.optimizer().reset();
}

void Crew::muster()
{
    command({Act::muster, 0, 0});
    collectives_.barrier();
}

void Crew::dismiss() { command({Act::dismiss, 0, 0}); }

void Crew::follow()
{
    for (;;) {
        Command c{};
        collectives_.broadcast(std::as_writable_bytes(std::span(&c, 1)), 0);
        switch (c.act) {
            case Act::step:  // a failure is the leader's to act on
                (void)step_together(
                    std::vector<rounds::BlockRange>(static_cast<std::size_t>(c.number)),
                    Tokens{c.progress});
                break;
            case Act::weights:
                weights_together();
                break;
            case Act::optimizer: {
                auto state = engine_.optimizer().state();
                state.steps = c.number;
                optimizer_together(std::move(state));
                break;
            }
            case Act::reset:
                engine_.optimizer().reset();
                break;
            case Act::muster:
                collectives_.barrier();
                break;
            case Act::dismiss:
                return;
        }
    }
}

}  // namespace curtail::train
