// SPDX-License-Identifier: Apache-2.0
#include "train/merge_work.hpp"

namespace curtail::train {

Result<rounds::Input> MergeWork::merge(rounds::Merge const& question, Byproducts& byproducts,
                                       Call const& call) const
{
    Merger merger(transport_, question, call);
    auto const computed = merger.run();
    byproducts.warnings = merger.warnings();
    if (!computed) return computed.error();
    rounds::Merged merged{question.op, {}, {}, {}};
    if (question.outer_step) {
        auto part = transport_.put(question.momentum.value(), computed->momentum, call);
        if (!part) return tl::unexpected(part.error());
        byproducts.stored.push_back({*part, computed->momentum});
        merged.momentum = std::move(*part);
    }
    auto part = transport_.put(question.weights, computed->model, call);
    if (!part) return tl::unexpected(part.error());
    byproducts.stored.push_back({*part, computed->model});
    merged.weights = std::move(*part);
    return merged;
}

Result<std::vector<rounds::PartRef>> MergeWork::damaged_of(
    std::vector<rounds::PartRef> const& parts, Call const& call) const
{
    std::vector<rounds::PartRef> damaged;
    for (auto const& part : parts) {
        auto const good = transport_.has(part, call);
        if (!good) return tl::unexpected(good.error());
        if (!*good) damaged.push_back(part);
    }
    return damaged;
}

Result<Merger::Results> MergeWork::compute_again(std::optional<rounds::Merge> const& recipe,
                                                 std::vector<std::string>& warnings,
                                                 Call const& call) const
{
    if (!recipe) return Merger::Results{};
    Merger merger(transport_, *recipe, call);
    auto made = merger.run();
    warnings = merger.warnings();
    if (made) return std::move(*made);
    if (!made.error()) return tl::unexpected(made.error().error());
    return Merger::Results{};
}

Result<rounds::Input> MergeWork::restore(rounds::Restore const& question,
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

Result<bool> MergeWork::put_kept(rounds::PartRef const& part, maintain::KeptPayloads* kept,
                                 Call const& call) const
{
    auto const bytes = kept == nullptr ? std::nullopt : kept->find(part);
    return bytes ? transport_.put_again(part, std::string_view(*bytes), call) : false;
}

Result<bool> MergeWork::put_computed(rounds::PartRef const& part, rounds::Merge const& recipe,
                                     Merger::Results const& computed, Call const& call) const
{
    Values values;
    if (part.name == recipe.weights.name) values = computed.model;
    if (recipe.momentum && part.name == recipe.momentum->name) values = computed.momentum;
    if (!values) return false;
    auto const encoded = payload::encode(transport_.layout(), part.part, *values);
    return transport_.put_again(part, encoded.pieces(), call);
}

}  // namespace curtail::train
