// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/merge_work.hpp"

namespace curtail::trainer {

tl::expected<MergeWork::MergeResult, chain::Merger::Obstacle> MergeWork::compute(
    protocol::Merge const& question, std::vector<std::string>& warnings,
    CallLimits const& call) const
{
    auto const& memory = transport_.memory();
    auto const elements = transport_.layout().elements();
    auto const pass = [&](protocol::PartRef const& part, chain::ValueReceiver const& receiver) {
        return transport_.pass(part, receiver, call);
    };
    chain::Merger merger(pass, question,
                         {memory.take(elements),
                          question.outer_step ? memory.take(elements) : std::vector<float>()});
    auto made = merger.run();
    warnings = merger.warnings();
    if (!made) return tl::unexpected(std::move(made.error()));
    return MergeResult{memory.share(std::move(made->weights)),
                       memory.share(std::move(made->momentum))};
}

Result<protocol::Input> MergeWork::merge(protocol::Merge const& question, Byproducts& byproducts,
                                         CallLimits const& call) const
{
    auto const computed = compute(question, byproducts.warnings, call);
    if (!computed) return computed.error();
    protocol::Merged merged{.op = question.op};
    if (question.outer_step) {
        auto part = transport_.put(question.momentum.value(), computed->momentum, call);
        if (!part) return tl::unexpected(part.error());
        byproducts.stored.push_back({*part, computed->momentum});
        merged.momentum = std::move(*part);
    }
    auto part = transport_.put(question.weights, computed->weights, call);
    if (!part) return tl::unexpected(part.error());
    byproducts.stored.push_back({*part, computed->weights});
    merged.weights = std::move(*part);
    return merged;
}

Result<std::vector<protocol::PartRef>> MergeWork::damaged_of(
    std::vector<protocol::PartRef> const& parts, CallLimits const& call) const
{
    std::vector<protocol::PartRef> damaged;
    for (auto const& part : parts) {
        auto const good = transport_.has(part, call);
        if (!good) return tl::unexpected(good.error());
        if (!*good) damaged.push_back(part);
    }
    return damaged;
}

Result<protocol::Input> MergeWork::restore(protocol::Restore const& question,
                                           chain::KeptPayloads* kept,
                                           std::vector<std::string>& warnings,
                                           CallLimits const& call) const
{
    protocol::Restored restored{.op = question.op};
    auto const damaged = damaged_of(question.parts, call);
    if (!damaged) return tl::unexpected(damaged.error());
    if (damaged->empty()) return restored;
    MergeResult computed;
    if (question.recompute) {
        auto made = compute(*question.recompute, warnings, call);
        if (made) computed = std::move(*made);
        // With an input that is of no use, there is no result.
        else if (!made.error()) return tl::unexpected(made.error().error());
    }
    for (auto const& part : *damaged) {
        auto again = question.recompute ? put_computed(part, *question.recompute, computed, call)
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

Result<bool> MergeWork::put_kept(protocol::PartRef const& part, chain::KeptPayloads* kept,
                                 CallLimits const& call) const
{
    auto const bytes = kept == nullptr ? std::nullopt : kept->find(part);
    if (bytes) return transport_.put_again(part, std::string_view(*bytes), call);
    return transport_.put_made_again(part, call);
}

Result<bool> MergeWork::put_computed(protocol::PartRef const& part, protocol::Merge const& merge,
                                     MergeResult const& computed, CallLimits const& call) const
{
    Values values;
    if (part.name == merge.weights.name) values = computed.weights;
    if (merge.momentum && part.name == merge.momentum->name) values = computed.momentum;
    if (!values) return false;
    auto const encoded = payload::encode(transport_.layout(), part.part, *values);
    return transport_.put_again(part, encoded.pieces(), call);
}

}  // namespace curtail::trainer
