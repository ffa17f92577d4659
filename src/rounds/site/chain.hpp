// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "rounds/record.hpp"

namespace curtail::rounds::site {

/// The run and its newest commit, as far as this process has read and checked them.
class Chain {
  public:
    [[nodiscard]] RunSpec const& run() const { return run_; }
    [[nodiscard]] Digest const& run_sha256() const { return run_sha256_; }
    [[nodiscard]] std::optional<Commit> const& tip() const { return tip_; }
    [[nodiscard]] Digest const& tip_sha256() const { return tip_sha256_; }
    /// Time of the merge commit that began the tip's round; empty: not read yet.
    [[nodiscard]] std::optional<Time> round_began() const { return round_began_; }

    void set_run(RunSpec run, Digest sha256);
    void set_round_began(Time time) { round_began_ = time; }

    /// Makes commit 1 the tip. Returns the broken rule if it is invalid, like the functions below.
    [[nodiscard]] std::optional<Error> start(std::string const& bytes);
    /// Makes commit `number` > 1 the tip, checked against its parent.
    [[nodiscard]] std::optional<Error> start(CommitNumber number, std::string const& bytes,
                                             std::string const& parent);
    /// Makes the commit after the tip the tip.
    [[nodiscard]] std::optional<Error> advance(std::string const& bytes);
    /// Checks a commit after the tip that is not yet stored.
    [[nodiscard]] std::optional<Error> check_next(Encoded const& encoded) const;

  private:
    [[nodiscard]] Result<Commit> read_next(std::string const& bytes) const;
    void set_tip(Commit commit, std::string const& bytes);

    RunSpec run_;
    Digest run_sha256_;
    std::optional<Commit> tip_;
    Digest tip_sha256_;
    std::optional<Time> round_began_;
};

}  // namespace curtail::rounds::site
