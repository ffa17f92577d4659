// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "rounds/site/machine.hpp"

namespace curtail::rounds::site {

/// All inputs of a merge: equal keys give a model with equal bits.
struct MergeKey {
    ModelRef parent;
    std::vector<std::tuple<MemberId, Seq, float>> included;
    bool outer_step{};
    friend bool operator==(MergeKey const&, MergeKey const&) = default;
};

/// A stored model that no commit names yet.
struct Made {
    MergeKey key;
    std::vector<PartRef> model;
    std::vector<PartRef> momentum;
};

/// Payload objects of this process, until a record names them or they are deleted.
class Payloads {
  public:
    /// Objects about to be stored, without a merge key for the initial model.
    void begin(std::vector<std::string> names);
    void begin(std::vector<std::string> names, MergeKey key);
    /// Throws std::logic_error unless `parts` are the newest objects in their order.
    void require_newest(std::vector<PartRef> const& parts) const;
    void made(std::vector<PartRef> model, std::vector<PartRef> momentum);
    /// The newest merged or lone model, until it is abandoned.
    [[nodiscard]] std::optional<Made> const& made() const { return made_; }

    /// A commit naming the newest objects goes out under this number.
    void send_under(CommitNumber number);
    /// No further commit will name the newest objects.
    void release_newest() { list_.back().in_use = false; }
    /// A number below the tip with an own create of unknown outcome; 0: none.
    [[nodiscard]] CommitNumber unsettled_below(CommitNumber tip) const;
    /// Settles creates under the record's number: keeps the objects it names, deletes others.
    void settle(Commit const& record, Machine& machine);
    /// No stored object will be sent again: deletes those that no create in flight can name.
    void abandon(Machine& machine);

  private:
    struct Payload {
        std::vector<std::string> names;
        CommitNumber sent;  ///< newest number under which a commit naming them was sent; 0: none
        bool settled{};     ///< that number has other content, so a late create cannot land
        bool in_use{true};
    };
    static void remove(Payload& payload, Machine& machine);

    std::vector<Payload> list_;
    std::optional<Made> made_;
};

[[nodiscard]] std::vector<std::string> names_of(std::vector<Target> const& targets);

/// Throws std::logic_error unless `parts` have these names in this order.
void require_targets(std::vector<PartRef> const& parts, std::vector<std::string> const& names);

}  // namespace curtail::rounds::site
