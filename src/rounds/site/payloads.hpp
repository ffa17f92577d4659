// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "rounds/site/machine.hpp"

namespace curtail::rounds::site {

/// What determines a merge's result. Two merges with equal keys make models with equal bits.
struct MergeKey {
    ModelRef parent;
    std::vector<std::tuple<MemberId, Seq, float>> included;  ///< member, number and scale
    bool outer_step{};
    friend bool operator==(MergeKey const&, MergeKey const&) = default;
};

/// A model that this process has stored or is about to store. No commit names it yet.
struct Made {
    MergeKey key;
    std::vector<PartRef> model;     ///< empty until the model is stored
    std::vector<PartRef> momentum;  ///< empty without an outer step with momentum
};

/// Keeps the list of payload objects that this process stored for commits. An object stays in the
/// list until a commit names it or this process deletes it.
class Payloads {
  public:
    /// Adds the objects of a model that is about to be stored. Only the initial model has no `key`.
    void begin(std::vector<std::string> names);
    void begin(std::vector<std::string> names, MergeKey key);
    /// Throws std::logic_error unless `parts` are the objects of the last begin(), in the same
    /// order.
    void require_newest(std::vector<PartRef> const& parts) const;
    /// Records that the model added last is stored in these parts.
    void made(std::vector<PartRef> model, std::vector<PartRef> momentum);
    /// Returns the last model that was added with a key. Returns an empty optional before the first
    /// such model and after abandon().
    [[nodiscard]] std::optional<Made> const& made() const { return made_; }

    /// Records that the process is about to create the commit `number`. This commit names the
    /// objects added last.
    void bind_newest_to(CommitNumber number);
    /// Records that no further commit will name the objects added last.
    void release_newest() { list_.back().in_use = false; }
    /// Looks for a commit below `tip` that this process tried to create without learning the
    /// outcome. Returns the commit's number, or 0 if there is none.
    [[nodiscard]] CommitNumber unsettled_below(CommitNumber tip) const;
    /// Takes `record`, a commit that exists. Looks only at the objects that bind_newest_to() last
    /// bound to the number of `record`. Forgets those objects that `record` names. Deletes the
    /// others unless a further commit may name them.
    void settle(Commit const& record, Machine& machine);
    /// Records that no further commit will name any of the objects. Keeps the objects that a Create
    /// of unknown outcome may have committed. Deletes the others.
    void abandon(Machine& machine);

  private:
    /// The objects of one model.
    struct Payload {
        std::vector<std::string> names;
        CommitNumber sent;  ///< number given to the last bind_newest_to(); 0: none
        bool settled{};     ///< another commit has that number, so a late create must fail
        bool in_use{true};  ///< a further commit may name them
    };
    static void remove(Payload& payload, Machine& machine);

    std::vector<Payload> list_;
    std::optional<Made> made_;
};

/// Returns the names of the targets.
[[nodiscard]] std::vector<std::string> names_of(std::vector<Target> const& targets);

/// Throws std::logic_error unless `parts` have these names in this order.
void require_targets(std::vector<PartRef> const& parts, std::vector<std::string> const& names);

}  // namespace curtail::rounds::site
