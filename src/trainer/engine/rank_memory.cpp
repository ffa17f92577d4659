// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/rank_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trainer/model/optim/shards.hpp"
#include "trainer/model/pass_memory.hpp"

namespace curtail::trainer {
namespace {

constexpr std::int64_t float_bytes = 4;
// AdamW has two values per weight. Muon has one. On a GPU, it also has buffers as large as another
// one for each shape of matrices, up to a limit. The temporary tensors of its iteration come on
// top.
constexpr std::int64_t adamw_values = 2;
constexpr std::int64_t muon_values = 1;
constexpr std::int64_t muon_scratch_bytes = 2'000'000'000;

struct Share {
    std::int64_t elements{};  // with the padding of the buckets
    std::int64_t state{};     // values of the optimizer
};

Share share_of(config::Model const& shape, optim::Shards const& shards, int rank)
{
    auto const places = model::parameter_places(shape);
    Share share;
    for (auto const& bucket : shards.buckets) share.elements += bucket.chunk;
    for (auto const& range : shards.of(rank)) {
        bool const of_layer = places[range.parameter].name.starts_with("transformer.h.");
        share.state += range.count * (of_layer ? muon_values : adamw_values);
    }
    return share;
}

// Two buffers of one bucket and, if exchanges overlap, the weights that are under way.
std::int64_t exchange_bytes(optim::Shards const& shards, int ranks, std::int64_t element,
                            bool on_gpu)
{
    if (ranks == 1) return 0;
    std::int64_t largest = 0;
    std::int64_t total = 0;
    for (auto const& bucket : shards.buckets) {
        largest = std::max(largest, bucket.chunk);
        total += bucket.chunk;
    }
    auto const staging = largest * ranks * (on_gpu ? 2 * float_bytes : float_bytes + element);
    auto const weights = on_gpu ? total * ranks * element : 0;
    return staging + weights + total * float_bytes;
}

std::string in_gb(Bytes bytes)
{
    return fmt::format("{:.1f} GB", static_cast<double>(bytes.value) / 1e9);
}

}  // namespace

RankMemory rank_memory(config::Run const& run, int ranks, at::ScalarType type, bool on_gpu)
{
    auto const element = static_cast<std::int64_t>(c10::elementSize(type));
    auto const shards = optim::deal_shards(run.model, ranks);
    Share largest;
    for (int rank = 0; rank < ranks; ++rank) {
        auto const share = share_of(run.model, shards, rank);
        if (share.elements + share.state > largest.elements + largest.state) largest = share;
    }
    auto const activations = run.training.checkpoint_activations ? model::Activations::recompute
                                                                 : model::Activations::keep;
    auto const scratch =
        on_gpu ? std::min(muon_scratch_bytes, 5 * float_bytes * largest.elements) : 0;
    return {Bytes{run.model.parameters() * (element + float_bytes)},
            Bytes{(largest.elements + largest.state) * float_bytes + scratch},
            Bytes{2 * largest.elements * float_bytes},
            Bytes{exchange_bytes(shards, ranks, element, on_gpu)},
            model::pass_memory(run.model, type, 1, activations, on_gpu)};
}

Result<void> check_memory(config::Run const& run, int ranks, at::ScalarType type, bool on_gpu,
                          DeviceMemory const& memory)
{
    auto const need = rank_memory(run, ranks, type, on_gpu);
    if (!memory.free || memory.ranks * need.total() <= *memory.free) return {};
    auto const shared =
        memory.ranks > 1 ? fmt::format(", which {} ranks share", memory.ranks) : std::string();
    return fail(
        ExitCode::unavailable,
        fmt::format("the model {} of {} parameters is larger than the memory", run.model.name,
                    run.model.parameters()),
        fmt::format("a rank needs {} (weights and gradients {}, optimizer {}, contributions {}, "
                    "exchange {}, one row {}), and {} are free{}",
                    in_gb(need.total()), in_gb(need.weights), in_gb(need.optimizer),
                    in_gb(need.work), in_gb(need.exchange), in_gb(need.row), in_gb(*memory.free),
                    shared),
        std::string("use more ranks, each with memory of its own") +
            (run.training.checkpoint_activations ? "" : ", set training.checkpoint_activations") +
            ", or train a smaller model");
}

}  // namespace curtail::trainer
