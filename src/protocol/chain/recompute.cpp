// SPDX-License-Identifier: Apache-2.0
#include "protocol/chain/recompute.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "protocol/chain/merger.hpp"
#include "protocol/records/names.hpp"
#include "protocol/site/recorded_merge.hpp"

namespace curtail::chain {
namespace {

using protocol::Commit;
using protocol::ContributionDecision;
using protocol::PartRef;
using Outcome = RecomputedModel::Outcome;

bool is_lone(Commit const& c)
{
    return std::ranges::any_of(c.decided, [](ContributionDecision const& d) {
        return protocol::adds_work(d) && d.inlined;
    });
}

// The form of a payload that Curtail has written; empty: the payload has another form.
std::optional<PayloadForm> form_of(PartRef const& part, std::size_t elements)
{
    // HDF5's signature and the version of its superblock.
    constexpr std::string_view beginning{"\x89HDF\r\n\x1a\n\x02"};
    constexpr std::size_t page = 4096;
    auto const size = static_cast<std::size_t>(part.bytes);
    auto const values = elements * sizeof(float);
    if (size <= values || (size - values) % page != 0) return std::nullopt;
    return PayloadForm{std::string(beginning), size - values, elements};
}

// Reads payloads of a run until one cannot be read. Remembers their heads, and why that one could
// not be read.
class Inputs {
  public:
    Inputs(RunObjects const& objects, std::int64_t elements)
        : objects_(objects), elements_(static_cast<std::size_t>(elements))
    {
    }

    tl::expected<void, store::ReadFailure> pass(PartRef const& part, ValueReceiver const& receiver)
    {
        if (!obstacle_) obstacle_ = read(part, receiver);
        if (!obstacle_) return {};
        return tl::unexpected(store::ReadFailure{store::ReadFailure::Cause::corrupt, {}});
    }
    // Empty: all payloads could be read.
    [[nodiscard]] std::optional<Result<Outcome>> const& obstacle() const { return obstacle_; }
    [[nodiscard]] std::string head(char const* part) const
    {
        auto const found = heads_.find(part);
        return found == heads_.end() ? std::string() : found->second;
    }

  private:
    std::optional<Result<Outcome>> read(PartRef const& part, ValueReceiver const& receiver)
    {
        auto const form = form_of(part, elements_);
        if (!form) return Outcome::other_form;
        auto const head = read_values(objects_, part, *form, receiver);
        if (!head && head.error().cause == store::ReadFailure::Cause::missing)
            return Outcome::inputs_deleted;
        if (!head) return tl::unexpected(head.error().error);
        if (!*head) return Outcome::other_form;
        heads_[part.part] = **head;
        return std::nullopt;
    }

    RunObjects const& objects_;
    std::size_t elements_;
    std::map<std::string, std::string> heads_;  // by part; the same in all files of one part
    std::optional<Result<Outcome>> obstacle_;
};

// Computes one merge again.
class Recomputation {
  public:
    Recomputation(RunObjects const& objects, RecomputeInputs const& run, Commit const& parent,
                  Commit const& commit)
        : objects_(objects),
          run_(run),
          parent_(parent),
          commit_(commit),
          inputs_(objects, run.elements)
    {
    }

    // Returns true if the attempt is worth a request.
    [[nodiscard]] bool may_succeed() const
    {
        if (is_lone(commit_)) return false;
        if (!run_.may_exist) return true;
        return run_.may_exist(parent_.model.weights.name) &&
               run_.may_exist(commit_.model.weights.name);
    }

    Result<Outcome> verify()
    {
        if (!is_lone(commit_) && !may_succeed()) return Outcome::inputs_deleted;
        auto const made = make();
        if (!made) return made.error();
        if (commit_.outer_step) {
            auto same = compare(commit_.outer->momentum, made->momentum);
            if (!same || *same != Outcome::recomputed) return same;
        }
        return compare(commit_.model.weights, made->weights);
    }

    // Computes the merge, or says why it cannot.
    tl::expected<Merger::Results, Result<Outcome>> make()
    {
        if (is_lone(commit_)) return obstacle(Outcome::lone);
        auto const headers = read_headers();
        if (!headers) return obstacle(tl::unexpected(headers.error()));
        if (!*headers) return obstacle(Outcome::header_lost);
        auto const merge = protocol::recorded_merge(run_.run, commit_, parent_, **headers);
        Merger::Results memory;
        memory.weights.reserve(static_cast<std::size_t>(run_.elements));
        if (commit_.outer_step) memory.momentum.reserve(static_cast<std::size_t>(run_.elements));
        Merger merger([this](auto const& part, auto const& to) { return inputs_.pass(part, to); },
                      merge, std::move(memory));
        auto made = merger.recompute();
        if (made) return std::move(*made);
        if (inputs_.obstacle()) return obstacle(*inputs_.obstacle());
        return obstacle(tl::unexpected(made.error().error()));
    }

    // The head of the payloads of a part that were read.
    [[nodiscard]] std::string head(char const* part) const { return inputs_.head(part); }

  private:
    static tl::unexpected<Result<Outcome>> obstacle(Result<Outcome> why)
    {
        return tl::unexpected<Result<Outcome>>(std::move(why));
    }

    // The headers of the merged contributions. Empty: one of them is lost.
    Result<std::optional<std::vector<protocol::Header>>> read_headers()
    {
        std::vector<protocol::Header> headers;
        for (auto const& d : commit_.decided) {
            if (!protocol::adds_work(d)) continue;
            auto const name = protocol::header_name(d.member, d.seq);
            auto const bytes = objects_.record(name);
            if (!bytes) return tl::unexpected(bytes.error());
            auto header = *bytes ? protocol::decode_header(**bytes, name)
                                 : Result<protocol::Header>(tl::unexpect, Error{});
            if (!header || !header->delta) return std::nullopt;
            headers.push_back(std::move(*header));
        }
        return headers;
    }

    Result<Outcome> compare(PartRef const& part, std::vector<float> const& values)
    {
        bool same = true;
        auto const compare_chunk = [&](std::size_t first, std::span<float const> stored) {
            same = same && std::memcmp(&values[first], stored.data(), stored.size_bytes()) == 0;
        };
        if (!inputs_.pass(part, {compare_chunk, [&] { same = true; }})) return *inputs_.obstacle();
        if (same) return Outcome::recomputed;
        return fail(ExitCode::protocol, "the stored run is invalid: " + part.name,
                    "it is not the merge that commit " + std::to_string(commit_.number.value) +
                        " records: recomputing it gives other values",
                    "its writer is faulty or of another version; continue from an earlier commit "
                    "with `curtail-store fork`");
    }

    RunObjects const& objects_;
    RecomputeInputs const& run_;
    Commit const& parent_;
    Commit const& commit_;
    Inputs inputs_;
};

std::int64_t count_candidates(RunObjects const& objects, RecomputeInputs const& inputs)
{
    std::int64_t count = 0;
    for (std::size_t i = 1; i < inputs.chain.size(); ++i) {
        auto const& commit = inputs.chain[i].commit;
        if (commit.kind == Commit::Kind::merge &&
            Recomputation(objects, inputs, inputs.chain[i - 1].commit, commit).may_succeed())
            ++count;
    }
    return count;
}

}  // namespace

Pieces RecomputedPayload::pieces() const
{
    if (head.empty()) return {};
    Pieces pieces{std::string_view(head)};
    pieces.add(std::as_bytes(std::span(values)));
    return pieces;
}

Result<std::optional<RecomputedPayloads>> recompute_payloads(RunObjects const& objects,
                                                             protocol::RunSpec const& run,
                                                             std::int64_t elements,
                                                             Commit const& parent,
                                                             Commit const& commit)
{
    std::vector<LinkedCommit> const none;
    RecomputeInputs const inputs{run, none, elements};
    Recomputation recomputation(objects, inputs, parent, commit);
    auto made = recomputation.make();
    if (!made && !made.error()) return tl::unexpected(made.error().error());
    if (!made) return std::nullopt;
    return RecomputedPayloads{
        {recomputation.head(protocol::weights_part), std::move(made->weights)},
        {recomputation.head(protocol::momentum_part), std::move(made->momentum)}};
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
        Recomputation recomputation(objects, inputs, inputs.chain[i - 1].commit, commit);
        bool const candidate = recomputation.may_succeed();
        if (candidate && progress) progress(done, total);
        auto const outcome = recomputation.verify();
        if (!outcome) return tl::unexpected(outcome.error());
        models.push_back({commit.number, commit.round, *outcome});
        if (candidate && progress) progress(++done, total);
    }
    return models;
}

}  // namespace curtail::chain
