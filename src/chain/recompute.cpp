// SPDX-License-Identifier: Apache-2.0
#include "chain/recompute.hpp"

#include <algorithm>
#include <cstring>

#include "rounds/merge.hpp"
#include "rounds/names.hpp"
#include "rounds/terms.hpp"

namespace curtail::chain {
namespace {

using rounds::Commit;
using rounds::Decided;
using rounds::PartRef;
using Outcome = RecomputedModel::Outcome;
using Cause = store::ReadFailure::Cause;

// Values, or why there are none.
struct Read {
    std::string head{};  ///< bytes before the values; the same in all files of one part
    std::vector<float> values{};
    std::optional<Outcome> obstacle{};
};

// The results of a merge. `momentum` is empty without an outer step.
struct Made {
    Read model;
    Read momentum{};
};

bool makes_model(Decided const& d) { return !d.refused && !d.ranges.empty(); }

bool is_lone(Commit const& c)
{
    return std::any_of(c.decided.begin(), c.decided.end(),
                       [](Decided const& d) { return makes_model(d) && d.inlined; });
}

// Reads payloads in the form that Curtail writes: a head of whole pages, then the values of all
// tensors without gaps. So no library for HDF5 is needed.
class ValueReader {
  public:
    ValueReader(RunObjects const& objects, std::int64_t elements)
        : objects_(objects), elements_(static_cast<std::size_t>(elements))
    {
    }

    Result<Read> read(PartRef const& part) const
    {
        auto const head = head_of(part);
        if (!head) return Read{{}, {}, Outcome::other_form};
        std::string start;
        std::vector<float> values(elements_);
        std::size_t arrived = 0;
        auto const done = objects_.payload(
            part, [&] { arrived = 0; },
            [&](std::span<std::byte const> piece) {
                if (arrived == 0) start.clear();
                if (arrived < *head)
                    start += store::text_of(piece.first(std::min(piece.size(), *head - arrived)));
                take(piece, arrived, *head, values);
                arrived += piece.size();
            });
        if (!done && done.error().cause == Cause::missing)
            return Read{{}, {}, Outcome::inputs_deleted};
        if (!done) return tl::unexpected(done.error().error);
        if (!start.starts_with(signature)) return Read{{}, {}, Outcome::other_form};
        return Read{std::move(start), std::move(values), {}};
    }

  private:
    // HDF5's signature and the version of its superblock.
    static constexpr std::string_view signature{"\x89HDF\r\n\x1a\n\x02"};

    // Bytes before the values; empty: the file has another form.
    [[nodiscard]] std::optional<std::size_t> head_of(PartRef const& part) const
    {
        constexpr std::size_t page = 4096;
        auto const size = static_cast<std::size_t>(part.bytes);
        auto const values = elements_ * sizeof(float);
        if (size <= values || (size - values) % page != 0) return std::nullopt;
        return size - values;
    }

    static void take(std::span<std::byte const> piece, std::size_t arrived, std::size_t head,
                     std::vector<float>& values)
    {
        auto const skip = arrived < head ? std::min(piece.size(), head - arrived) : 0;
        auto const rest = piece.subspan(skip);
        if (rest.empty()) return;
        auto const place = std::as_writable_bytes(std::span(values)).subspan(arrived + skip - head);
        std::memcpy(place.data(), rest.data(), std::min(place.size(), rest.size()));
    }

    RunObjects const& objects_;
    std::size_t elements_;
};

// Computes the model of one merge commit again.
class Merger {
  public:
    Merger(RunObjects const& objects, RecomputeInputs const& inputs, Commit const& parent,
           Commit const& commit)
        : objects_(objects),
          inputs_(inputs),
          reader_(objects, inputs.elements),
          parent_(parent),
          commit_(commit)
    {
    }

    // Whether the attempt is worth a request.
    [[nodiscard]] bool may_succeed() const
    {
        if (is_lone(commit_)) return false;
        if (!inputs_.may_exist) return true;
        return inputs_.may_exist(parent_.model.weights.name) &&
               inputs_.may_exist(commit_.model.weights.name);
    }

    Result<Outcome> run()
    {
        if (!is_lone(commit_) && !may_succeed()) return Outcome::inputs_deleted;
        auto const made = make();
        if (!made) return tl::unexpected(made.error());
        if (made->model.obstacle) return *made->model.obstacle;
        if (commit_.outer_step) {
            auto const same = compare(commit_.outer->momentum, made->momentum.values);
            if (!same || *same != Outcome::recomputed) return same;
        }
        return compare(commit_.model.weights, made->model.values);
    }

    // Computes the merge. If it cannot, the model has an obstacle.
    Result<Made> make()
    {
        if (is_lone(commit_)) return Made{{{}, {}, Outcome::lone}};
        for (auto const& d : commit_.decided) {
            if (!makes_model(d)) continue;
            auto const obstacle = add(d);
            if (!obstacle) return tl::unexpected(obstacle.error());
            if (*obstacle) return Made{{{}, {}, *obstacle}};
        }
        return merge();
    }

  private:
    using Obstacle = std::optional<Outcome>;

    Result<Obstacle> add(Decided const& d)
    {
        auto const name = rounds::header_name(d.member, d.seq);
        auto const bytes = objects_.record(name);
        if (!bytes) return tl::unexpected(bytes.error());
        auto const header = *bytes ? rounds::decode_header(**bytes, name)
                                   : Result<rounds::Header>(tl::unexpect, Error{});
        if (!header || !header->delta) return Obstacle(Outcome::header_lost);
        scales_.push_back(d.scale);
        deltas_.emplace_back();
        return read(header->delta->payload, deltas_.back());
    }

    // Reads a payload into `values`.
    Result<Obstacle> read(PartRef const& part, std::vector<float>& values) const
    {
        auto found = reader_.read(part);
        if (!found) return tl::unexpected(found.error());
        values = std::move(found->values);
        return found->obstacle;
    }

    Result<Made> merge()
    {
        auto theta = reader_.read(parent_.model.weights);
        if (!theta) return tl::unexpected(theta.error());
        if (theta->obstacle) return Made{std::move(*theta)};
        Read before;
        if (commit_.outer_step && parent_.outer) {
            auto momentum = reader_.read(parent_.outer->momentum);
            if (!momentum) return tl::unexpected(momentum.error());
            if (momentum->obstacle) return Made{std::move(*momentum)};
            before = std::move(*momentum);
        }
        std::vector<std::span<float const>> const deltas(deltas_.begin(), deltas_.end());
        rounds::WeightedDeltas const weighted{deltas, scales_};
        Made made{{std::move(theta->head), std::vector<float>(theta->values.size()), {}}};
        if (!commit_.outer_step) {
            (void)rounds::average_step(theta->values, weighted, made.model.values);
            return made;
        }
        auto const outer = rounds::in_force(inputs_.run, parent_).outer;
        made.momentum = {std::move(before.head), std::vector<float>(theta->values.size()), {}};
        (void)rounds::nesterov_step({theta->values, before.values, static_cast<float>(outer.eta),
                                     static_cast<float>(outer.mu)},
                                    weighted, made.model.values, made.momentum.values);
        return made;
    }

    Result<Outcome> compare(PartRef const& part, std::vector<float> const& values) const
    {
        std::vector<float> stored;
        auto const obstacle = read(part, stored);
        if (!obstacle) return tl::unexpected(obstacle.error());
        if (*obstacle) return **obstacle;
        if (std::memcmp(stored.data(), values.data(), values.size() * sizeof(float)) == 0)
            return Outcome::recomputed;
        return fail(ExitCode::protocol, "the stored run is invalid: " + part.name,
                    "it is not the merge that commit " + std::to_string(commit_.number.value) +
                        " records: recomputing it gives other values",
                    "its writer is faulty or of another version; continue from an earlier commit "
                    "with `curtail-store fork`");
    }

    RunObjects const& objects_;
    RecomputeInputs const& inputs_;
    ValueReader reader_;
    Commit const& parent_;
    Commit const& commit_;
    std::vector<std::vector<float>> deltas_;
    std::vector<float> scales_;
};

std::int64_t count_candidates(RunObjects const& objects, RecomputeInputs const& inputs)
{
    std::int64_t count = 0;
    for (std::size_t i = 1; i < inputs.chain.size(); ++i) {
        auto const& commit = inputs.chain[i].commit;
        if (commit.kind == Commit::Kind::merge &&
            Merger(objects, inputs, inputs.chain[i - 1].commit, commit).may_succeed())
            ++count;
    }
    return count;
}

// The stored form of a result; empty: unknown.
std::string bytes_of(Read const& result)
{
    if (result.head.empty()) return {};
    auto const bytes = std::as_bytes(std::span(result.values));
    return result.head + std::string(store::text_of(bytes));
}

}  // namespace

Result<std::optional<RemadePayloads>> remake_payloads(RunObjects const& objects,
                                                      rounds::RunSpec const& run,
                                                      std::int64_t elements, Commit const& parent,
                                                      Commit const& commit)
{
    std::vector<LinkedCommit> const none;
    RecomputeInputs const inputs{run, none, elements};
    auto const made = Merger(objects, inputs, parent, commit).make();
    if (!made) return tl::unexpected(made.error());
    if (made->model.obstacle) return std::nullopt;
    return RemadePayloads{bytes_of(made->model), bytes_of(made->momentum)};
}

Result<std::vector<RecomputedModel>> recompute_models(
    RunObjects const& objects, RecomputeInputs const& inputs,
    std::function<void(std::int64_t done, std::int64_t total)> const& progress)
{
    auto const total = count_candidates(objects, inputs);
    std::int64_t done = 0;
    std::vector<RecomputedModel> models;
    for (std::size_t i = 1; i < inputs.chain.size(); ++i) {
        auto const& commit = inputs.chain[i].commit;
        if (commit.kind != Commit::Kind::merge) continue;
        Merger merger(objects, inputs, inputs.chain[i - 1].commit, commit);
        bool const candidate = merger.may_succeed();
        if (candidate && progress) progress(done, total);
        auto const outcome = merger.run();
        if (!outcome) return tl::unexpected(outcome.error());
        models.push_back({commit.number, commit.round, *outcome});
        if (candidate && progress) progress(++done, total);
    }
    return models;
}

}  // namespace curtail::chain
