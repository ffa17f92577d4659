// SPDX-License-Identifier: Apache-2.0
#include "train/rank_snapshots.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::train {
namespace {

using Part = optim::Optimizer::StatePart;

struct Saved {
    std::vector<snapshot::Range> ranges;
    std::vector<std::span<float>> values;

    void add(char const* prefix, std::vector<Part> const& parts)
    {
        for (auto const& part : parts) {
            ranges.push_back({prefix + part.name, part.shape, part.first, part.tensor.numel()});
            values.emplace_back(part.tensor.mutable_data_ptr<float>(),
                                static_cast<std::size_t>(part.tensor.numel()));
        }
    }
};

Saved saved_state(Engine& engine, bool with_weights)
{
    Saved saved;
    if (with_weights) saved.add("weights/", engine.masters());
    saved.add("optimizer/", engine.optimizer().parts());
    return saved;
}

}  // namespace

RankSnapshots::RankSnapshots(Engine& engine, std::filesystem::path folder)
    : engine_(engine),
      folder_(std::move(folder)),
      writer_(folder_, saved_state(engine, true).ranges)
{
}

void RankSnapshots::begin(snapshot::Head const& head, snapshot::Place const& place)
{
    auto const saved = saved_state(engine_, true);
    std::vector<std::span<float const>> const values(saved.values.begin(), saved.values.end());
    if (place.rank == 0) snapshot::remove_other_ranks(folder_, place);
    result_.reset();
    if (auto begun = writer_.begin(head, place, values); !begun) result_ = std::move(begun);
}

std::optional<Result<void>> RankSnapshots::result(Millis limit)
{
    if (!result_) {
        if (!writer_.is_writing()) throw std::logic_error("no snapshot was begun");
        result_ = writer_.take_result(limit);
    }
    return result_;
}

Result<void> RankSnapshots::restore(std::int64_t serial, bool with_weights)
{
    auto const found = snapshot::find_snapshots(folder_);
    if (!found) return tl::unexpected(found.error());
    auto const it = std::find_if(found->whole.begin(), found->whole.end(),
                                 [&](auto const& one) { return one.serial == serial; });
    if (it == found->whole.end())
        return fail(ExitCode::data, "cannot read the snapshot", "its files have disappeared");
    auto const saved = saved_state(engine_, with_weights);
    auto done = snapshot::read(folder_, *it, saved.ranges, saved.values);
    if (done) engine_.optimizer().set_steps(it->head.optimizer_steps);
    return done;
}

}  // namespace curtail::train
