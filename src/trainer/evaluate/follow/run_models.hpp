// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "protocol/chain/run_objects.hpp"
#include "protocol/upkeep/kept_rounds.hpp"
#include "run/config/run.hpp"

namespace curtail::follow {

/// The models of a run, and the growth of its chain. Every commit is checked by the protocol's
/// rules.
class RunModels {
  public:
    /// `run` and `objects` must outlive the object.
    RunModels(config::Run const& run, chain::RunObjects const& objects)
        : run_(run), objects_(objects)
    {
    }

    /// Reads the commits that are new since the last call. Returns whether the run has begun. Fails
    /// with `config` if the run file describes a model of another shape than the run's. Fails with
    /// `protocol` if a commit breaks a rule. Returns errors of the store unchanged.
    [[nodiscard]] Result<bool> update();

    /// Returns the commits that made a model, in order. Only their run, number, kind, round, model
    /// and totals are set.
    [[nodiscard]] std::span<protocol::Commit const> models() const { return models_; }
    /// The run's run.json. The run must have begun, as for the next three.
    [[nodiscard]] protocol::RunSpec const& spec() const { return *spec_; }
    [[nodiscard]] Round oldest_kept() const { return kept_.oldest(); }
    [[nodiscard]] Millis repair_wait() const { return tip_->terms.params.repair_wait; }
    [[nodiscard]] bool is_complete() const { return tip_->complete; }

  private:
    [[nodiscard]] Result<bool> read_first();
    void add(protocol::Commit commit);

    config::Run const& run_;
    chain::RunObjects const& objects_;
    std::optional<protocol::RunSpec> spec_;  ///< empty: the run has not begun
    std::optional<protocol::Commit> tip_;    ///< the newest commit
    std::vector<protocol::Commit> models_;
    upkeep::KeptRounds kept_;
};

}  // namespace curtail::follow
