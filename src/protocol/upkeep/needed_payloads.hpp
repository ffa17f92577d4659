// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "protocol/records/record.hpp"

namespace curtail::upkeep {

/// What a chain says about payloads: which ones the run must keep, and when it needed others for
/// the last time. Add every commit, from the first to the newest.
class NeededPayloads {
  public:
    explicit NeededPayloads(protocol::Params const& params) : params_(params) {}

    /// Adds the next commit. Throws std::logic_error if it does not follow the last one.
    void add(protocol::Commit const& commit);

    [[nodiscard]] CommitNumber newest() const { return newest_; }  ///< 0 before the first commit
    [[nodiscard]] Round round() const { return round_; }           ///< of the newest commit

    /// Returns whether a commit of the newest `keep_models` rounds names the payload, or it is the
    /// weights of a milestone. `name` is relative to `runs/<run>/`.
    [[nodiscard]] bool names(std::string const& name) const;
    /// Returns whether any commit names the payload.
    [[nodiscard]] bool has_named(std::string const& name) const;
    /// Returns whether `round` is one of the newest `keep_models` rounds.
    [[nodiscard]] bool keeps(Round round) const
    {
        return round.value > round_.value - params_.keep_models;
    }

    /// Returns the member's row in the newest commit, or null.
    [[nodiscard]] protocol::Member const* member(MemberId const& id) const;
    /// Returns the round of the commit that removed the member. Empty if it was never a member, or
    /// still is one.
    [[nodiscard]] std::optional<Round> left(MemberId const& id) const;
    /// Returns the round of the commit that decided the contribution. Empty if there is none.
    [[nodiscard]] std::optional<Round> decided(MemberId const& id, Seq seq) const;

  private:
    protocol::Params params_;
    CommitNumber newest_{0};
    Round round_{0};
    std::map<MemberId, protocol::Member> members_;
    std::map<MemberId, Round> left_;
    std::map<std::pair<MemberId, Seq>, Round> decided_;
    std::map<std::string, Round> named_;  ///< by name: the newest round that names it
    std::set<std::string> milestones_;    ///< names of their weights
};

}  // namespace curtail::upkeep
