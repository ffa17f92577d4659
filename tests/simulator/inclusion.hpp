// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "protocol/records/record.hpp"

namespace curtail::protocol::simulator {

struct SimProcess;

/// The work of one process that no commit has decided, by the number of models that its trainer has
/// adopted since the work was done.
class OpenWork {
  public:
    /// Takes that the trainer has loaded a model, without any work.
    void loaded() { by_age_.clear(); }
    /// Takes that the trainer has adopted a model. `open` is the work without a decision, which is
    /// now in the trainer's weights. Returns whether none of it is too old.
    [[nodiscard]] bool adopted(Ranges const& open);

  private:
    std::deque<Ranges> by_age_;  ///< the newest first
};

/// Checks what a new commit does with the living processes that no fault has hit: it removes none
/// that holds blocks, and refuses no work as stale if `max_staleness` is at least 2.
void check_included(std::vector<std::shared_ptr<SimProcess>> const& living, Commit const& parent,
                    Commit const& commit);

}  // namespace curtail::protocol::simulator
