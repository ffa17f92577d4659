// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/rank_snapshots.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <stdexcept>

#include "trainer/engine/pinned_memory.hpp"

namespace curtail::trainer {
namespace {

using Part = optim::Optimizer::StatePart;

// What a snapshot saves of a rank.
struct SavedState {
    std::vector<snapshot::ElementRange> ranges;
    std::vector<at::Tensor> tensors;

    void add(char const* prefix, std::vector<Part> const& parts)
    {
        for (auto const& part : parts) {
            ranges.push_back({prefix + part.name, part.shape, part.first, part.tensor.numel()});
            tensors.push_back(part.tensor.view({-1}));
        }
    }
};

SavedState saved_state(Engine& engine, bool with_weights)
{
    SavedState saved;
    if (with_weights) saved.add("weights/", engine.masters());
    saved.add("optimizer/", engine.optimizer().parts());
    return saved;
}

snapshot::BlockSource blocks_for(Engine& engine)
{
    auto const device = engine.weights().flat().device();
    if (device.is_cpu()) return {};
    return {[device](std::size_t bytes) { return pinned_block(bytes, device); }};
}

// Reads directly into the tensors, or into host memory if they are on a GPU.
Result<void> read_into(std::filesystem::path const& folder, snapshot::Snapshot const& one,
                       SavedState const& saved)
{
    std::vector<at::Tensor> on_host;
    std::vector<std::span<float>> values;
    for (auto const& tensor : saved.tensors) {
        on_host.push_back(
            tensor.is_cpu() ? tensor : at::empty(tensor.sizes(), at::TensorOptions(at::kFloat)));
        values.emplace_back(on_host.back().mutable_data_ptr<float>(),
                            static_cast<std::size_t>(tensor.numel()));
    }
    auto done = snapshot::read(folder, one, saved.ranges, values);
    if (!done) return done;
    for (std::size_t i = 0; i < on_host.size(); ++i)
        if (!saved.tensors[i].is_cpu()) saved.tensors[i].copy_(on_host[i]);
    return done;
}

}  // namespace

RankSnapshots::RankSnapshots(Engine& engine, SnapshotFiles files)
    : engine_(engine),
      files_(std::move(files)),
      writer_(files_.folder, saved_state(engine, files_.with_weights).ranges, blocks_for(engine))
{
}

void RankSnapshots::begin(snapshot::Metadata const& metadata, snapshot::Place const& place)
{
    engine_.finish_steps();
    auto const saved = saved_state(engine_, files_.with_weights);
    if (place.rank == 0) snapshot::remove_other_ranks(files_.folder, place);
    result_.reset();
    auto const copy = [&](std::size_t range, std::size_t from, std::span<float> to) {
        auto const count = static_cast<std::int64_t>(to.size());
        at::from_blob(to.data(), {count}, at::kFloat)
            .copy_(saved.tensors[range].narrow(0, static_cast<std::int64_t>(from), count));
    };
    try {
        if (auto begun = writer_.begin(metadata, place, copy); !begun) result_ = std::move(begun);
    } catch (std::exception const& broken) {
        if (!writer_.is_writing())  // otherwise the writer has a result
            result_ = fail(ExitCode::unavailable, "cannot save a snapshot", broken.what());
    }
}

std::optional<Result<void>> RankSnapshots::result(Millis limit)
{
    if (!result_) {
        if (!writer_.is_writing()) throw std::logic_error("no snapshot was begun");
        result_ = writer_.take_result(limit);
    }
    return result_;
}

Result<void> RankSnapshots::restore(std::int64_t serial)
{
    engine_.finish_steps();
    auto const found = snapshot::find_snapshots(files_.folder);
    if (!found) return tl::unexpected(found.error());
    auto const it = std::ranges::find(found->whole, serial, &snapshot::Snapshot::serial);
    if (it == found->whole.end())
        return fail(ExitCode::data, "cannot read the snapshot", "its files have disappeared");
    auto done = read_into(files_.folder, *it, saved_state(engine_, files_.with_weights));
    if (done) engine_.optimizer().set_steps(it->metadata.optimizer_steps);
    return done;
}

}  // namespace curtail::trainer
