// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "chain/run_objects.hpp"
#include "train/store_work.hpp"

// Storing damaged payloads again.
namespace curtail::train {

Result<bool> StoreWork::is_good(rounds::PartRef const& part, Call const& call) const
{
    chain::RunObjects const objects(*store_, layout_->run);
    auto const read = objects.payload(
        part, [] {}, [](std::span<std::byte const>) {}, call);
    if (read) return true;
    if (read.error().cause == store::ReadFailure::Cause::unavailable)
        return tl::unexpected(read.error().error);
    return false;
}

Result<bool> StoreWork::put_again(rounds::PartRef const& part, Pieces const& bytes,
                                  Call const& call) const
{
    bool const same =
        static_cast<std::int64_t>(bytes.size()) == part.bytes && sha256_of(bytes) == part.sha256;
    if (!same) return false;
    auto const name = object(part.name);
    if (!name) return tl::unexpected(name.error());
    if (auto stored = store_->put(*name, bytes, call); !stored)
        return tl::unexpected(stored.error());
    return true;
}

Result<std::vector<rounds::PartRef>> StoreWork::damaged_of(
    std::vector<rounds::PartRef> const& parts, Call const& call) const
{
    std::vector<rounds::PartRef> damaged;
    for (auto const& part : parts) {
        auto const good = is_good(part, call);
        if (!good) return tl::unexpected(good.error());
        if (!*good) damaged.push_back(part);
    }
    return damaged;
}

Result<Merger::Results> StoreWork::compute_again(std::optional<rounds::Merge> const& recipe,
                                                 std::vector<std::string>& warnings,
                                                 Call const& call) const
{
    if (!recipe) return Merger::Results{};
    Merger merger(source(), *recipe, call);
    auto made = merger.run();
    warnings = merger.warnings();
    if (made) return std::move(*made);
    if (!made.error()) return tl::unexpected(made.error().error());
    return Merger::Results{};
}

Result<rounds::Input> StoreWork::restore(rounds::Restore const& question,
                                         maintain::KeptPayloads* kept,
                                         std::vector<std::string>& warnings, Call const& call) const
{
    rounds::Restored restored{question.op, {}, {}};
    auto const damaged = damaged_of(question.parts, call);
    if (!damaged) return tl::unexpected(damaged.error());
    if (damaged->empty()) return restored;
    auto const computed = compute_again(question.recipe, warnings, call);
    if (!computed) return tl::unexpected(computed.error());
    for (auto const& part : *damaged) {
        auto again = question.recipe ? put_computed(part, *question.recipe, *computed, call)
                                     : put_kept(part, kept, call);
        // Another site may have the right to replace the object.
        if (!again && again.error().code == ExitCode::permission) {
            warnings.push_back(again.error().message());
            again = false;
        }
        if (!again) return tl::unexpected(again.error());
        (*again ? restored.stored : restored.damaged).push_back(part.name);
    }
    return restored;
}

Result<bool> StoreWork::put_kept(rounds::PartRef const& part, maintain::KeptPayloads* kept,
                                 Call const& call) const
{
    auto const bytes = kept == nullptr ? std::nullopt : kept->find(part);
    return bytes ? put_again(part, std::string_view(*bytes), call) : false;
}

Result<bool> StoreWork::put_computed(rounds::PartRef const& part, rounds::Merge const& recipe,
                                     Merger::Results const& computed, Call const& call) const
{
    auto const is_part = [&](rounds::Target const& target) { return target.name == part.name; };
    Values values;
    if (std::any_of(recipe.weights.begin(), recipe.weights.end(), is_part)) values = computed.model;
    if (std::any_of(recipe.momentum.begin(), recipe.momentum.end(), is_part))
        values = computed.momentum;
    if (!values) return false;
    auto const encoded = payload::encode(*layout_, part.part, *values);
    return put_again(part, encoded.pieces(), call);
}

}  // namespace curtail::train
