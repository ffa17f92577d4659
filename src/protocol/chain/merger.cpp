// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/merger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "protocol/rules/merge.hpp"

namespace curtail::chain {
namespace {

using Cause = store::ReadFailure::Cause;

std::string name_of(protocol::Merge::Source const& contribution)
{
    return "contribution " + std::to_string(contribution.seq.value) + " of " +
           contribution.member.value;
}

// The place of some values of a result. Appends zeros if it is new, so that they are still in the
// processor's cache when they are used.
std::span<float> place_in(std::vector<float>& result, std::size_t first, std::size_t count)
{
    if (result.size() < first + count) result.resize(first + count);
    return std::span(result).subspan(first, count);
}

}  // namespace

tl::expected<Merger::Results, Merger::Obstacle> Merger::run()
{
    constexpr int tries = 3;
    for (int attempt = 0; attempt < tries; ++attempt) {
        begin();
        if (auto obstacle = add_deltas()) return tl::unexpected(std::move(*obstacle));
        if (spoiled_) continue;
        if (auto obstacle = take_step()) return tl::unexpected(std::move(*obstacle));
        if (spoiled_) continue;
        if (checks_ && !finite_) return tl::unexpected(refuse_greatest());
        return std::move(results_);
    }
    return tl::unexpected(
        Obstacle(fail(ExitCode::temporary, "cannot merge", "payloads changed while they were read",
                      "check the store if this repeats")));
}

tl::expected<Merger::Results, Merger::Obstacle> Merger::recompute()
{
    checks_ = false;
    return run();
}

void Merger::begin()
{
    results_.weights.clear();
    results_.momentum.clear();
    sumsq_.assign(question_.include.size(), 0);
    finite_ = true;
    spoiled_ = false;
}

std::optional<Merger::Obstacle> Merger::add_deltas()
{
    protocol::Merged found{.op = question_.op};
    for (std::size_t i = 0; i < sumsq_.size(); ++i) {
        auto const& included = question_.include[i];
        auto const add = [&](std::size_t first, std::span<float const> delta) {
            auto const sum = place_in(results_.weights, first, delta.size());
            sumsq_[i] += protocol::add_scaled(delta, included.scale, sum);
        };
        auto const read = pass_(included.delta.payload, {add, [this] { spoiled_ = true; }});
        if (read) continue;
        auto const& [cause, error] = read.error();
        if (cause == Cause::unavailable) return Obstacle(tl::unexpected(error));
        warnings_.push_back(error.message());
        found.refused.push_back(
            {included.member, included.seq, protocol::Refusal::digest, cause == Cause::missing});
    }
    if (checks_ && found.refused.empty() && !spoiled_) found.refused = faults();
    if (found.refused.empty()) return std::nullopt;
    return Obstacle(std::move(found));
}

// Returns the contributions that must not be in the model.
std::vector<protocol::Merged::UnusableContribution> Merger::faults()
{
    std::vector<protocol::Merged::UnusableContribution> refused;
    for (std::size_t i = 0; i < sumsq_.size(); ++i) {
        auto const& included = question_.include[i];
        bool const finite = std::isfinite(sumsq_[i]);
        if (finite && protocol::is_same_sumsq(sumsq_[i], included.delta.sumsq)) continue;
        auto const why =
            finite
                ? fmt::format("the sum of the squares of its values is {}, but its header says {}",
                              sumsq_[i], included.delta.sumsq)
                : std::string("some of its values are not finite");
        warnings_.push_back("refusing " + name_of(included) + ": " + why);
        refused.push_back({included.member, included.seq,
                           finite ? protocol::Refusal::norm : protocol::Refusal::nan});
    }
    return refused;
}

std::optional<Merger::Obstacle> Merger::take_step()
{
    if (auto obstacle = read_momentum()) return obstacle;
    auto const& part = question_.model.weights;
    auto const step = [this](std::size_t first, std::span<float const> theta) {
        step_at(first, theta);
    };
    auto const read = pass_(part, {step, [this] { spoiled_ = true; }});
    if (read) return std::nullopt;
    return answer_to(part, read.error());
}

std::optional<Merger::Obstacle> Merger::read_momentum()
{
    if (!question_.outer_step || !question_.outer) return std::nullopt;
    auto const& part = question_.outer->momentum;
    auto const copy = [this](std::size_t first, std::span<float const> values) {
        std::copy(values.begin(), values.end(),
                  place_in(results_.momentum, first, values.size()).begin());
    };
    auto const read = pass_(part, {copy});
    if (read) return std::nullopt;
    return answer_to(part, read.error());
}

// Replaces the sum of the deltas by the new model.
void Merger::step_at(std::size_t first, std::span<float const> theta)
{
    constexpr std::array whole{1.0F};
    auto const model = place_in(results_.weights, first, theta.size());
    std::array<std::span<float const>, 1> const sum{model};
    protocol::WeightedDeltas const deltas{sum, whole};
    if (!question_.outer_step) {
        finite_ = protocol::average_step(theta, deltas, model).finite && finite_;
        return;
    }
    auto const momentum = place_in(results_.momentum, first, theta.size());
    protocol::OuterStep const step{theta, momentum, static_cast<float>(question_.eta),
                                   static_cast<float>(question_.mu)};
    finite_ = protocol::nesterov_step(step, deltas, model, momentum).finite && finite_;
}

// Reads the deltas again, to find the one that contributed most to a value that is not finite.
Merger::Obstacle Merger::refuse_greatest()
{
    auto const& model = results_.weights;
    auto const bad = std::find_if_not(model.begin(), model.end(),
                                      [](float value) { return std::isfinite(value); });
    auto const at = static_cast<std::size_t>(bad - model.begin());
    std::vector<float> found(question_.include.size()), scale;
    std::vector<std::span<float const>> spans;
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto const& included = question_.include[i];
        auto const take = [&](std::size_t first, std::span<float const> values) {
            if (at >= first && at - first < values.size()) found[i] = values[at - first];
        };
        auto const read = pass_(included.delta.payload, {take});
        if (!read) return tl::unexpected(read.error().error);
        scale.push_back(included.scale);
        spans.push_back(std::span(found).subspan(i, 1));
    }
    auto const greatest = protocol::greatest_at_fault({spans, scale}, std::span(&*bad, 1));
    auto const& included = question_.include.at(greatest);
    warnings_.push_back("refusing " + name_of(included) +
                        ": with it, some values of the merged model are not finite");
    return protocol::Merged{.op = question_.op,
                            .refused = {{included.member, included.seq, protocol::Refusal::nan}}};
}

// The answer to a merge whose model or momentum cannot be read.
Merger::Obstacle Merger::answer_to(protocol::PartRef const& part,
                                   store::ReadFailure const& failure) const
{
    if (failure.cause == Cause::unavailable) return tl::unexpected(failure.error);
    return protocol::Corrupt{question_.op, part.name, failure.error.message()};
}

}  // namespace curtail::chain
