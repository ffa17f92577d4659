// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "protocol/site/machine.hpp"

namespace curtail::protocol::site {

/// What determines a merge's result. Two merges with equal keys make models with equal bits.
struct MergeKey {
    ModelRef parent;  ///< the committed model before the merge
    /// Member, number and scale of each included contribution.
    std::vector<std::tuple<MemberId, Seq, float>> included;
    bool outer_step{};  ///< as Commit::outer_step
    // Only an outer step has these. An amendment can change both without a new round.
    Outer outer;                       ///< the parameters of the outer optimizer
    std::optional<OuterRef> momentum;  ///< the committed momentum before the merge
    friend bool operator==(MergeKey const&, MergeKey const&) = default;
};

/// A model that this process has stored or is about to store. No commit names it yet.
struct StoredModel {
    MergeKey key;
    PartRef weights{};                  ///< has no name until the model is stored
    std::optional<PartRef> momentum{};  ///< empty until stored, or if key.outer_step is false
};

/// Keeps the list of payload objects that this process stored for commits. An object stays in the
/// list until a commit names it or this process deletes it. Below, a further commit is one that
/// this process has not yet tried to create.
class Payloads {
  public:
    /// Adds the objects of a model that is about to be stored. The initial model has no `key`;
    /// every other model has one.
    void begin(std::vector<std::string> names);
    void begin(std::vector<std::string> names, MergeKey key);
    /// Checks that these are the objects of the last begin(), in the same order. Throws
    /// std::logic_error if they are not.
    void require_newest(PartRef const& weights, std::optional<PartRef> const& momentum = {}) const;
    /// Checks the same, and records that the model added last is stored in these objects.
    void made(PartRef weights, std::optional<PartRef> momentum = {});
    /// Returns the last model that was added with a key. Returns an empty optional before the first
    /// such model and after abandon().
    [[nodiscard]] std::optional<StoredModel> const& made() const { return made_; }

    /// Records that the process is about to create the commit `number`. This commit names the
    /// objects added last. If these objects are bound to an earlier number, `number` replaces it.
    void bind_newest_to(CommitNumber number);
    /// Records that no further commit will name the objects added last.
    void release_newest() { list_.back().in_use = false; }
    /// Returns a number below `tip` for which this process tried to create a commit without
    /// learning the outcome. Returns 0 if there is no such number.
    [[nodiscard]] CommitNumber unsettled_below(CommitNumber tip) const;
    /// Takes `record`, an existing commit. Considers only the models that are bound to the number
    /// of `record`. If `record` names such a model, forgets the model's objects. If `record` names
    /// another model, the bound model's objects are deleted, unless a further commit can name them.
    void settle(Commit const& record, Machine& machine);
    /// Records that no further commit will name any of the objects. Keeps the objects of each
    /// commit that this process tried to create without learning the outcome. Deletes the others.
    void abandon(Machine& machine);

  private:
    /// The objects of one model.
    struct Payload {
        std::vector<std::string> names;
        CommitNumber sent;  ///< number of the commit to which the objects are bound; 0: none
        /// The commit `sent` exists and names other objects. If a request of this process to create
        /// that commit is still on its way, the request fails.
        bool settled{};
        bool in_use{true};  ///< a further commit may name these objects
    };
    static void remove(Payload& payload, Machine& machine);

    std::vector<Payload> list_;
    std::optional<StoredModel> made_;
};

}  // namespace curtail::protocol::site
