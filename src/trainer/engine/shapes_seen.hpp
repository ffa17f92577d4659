// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace curtail::trainer {

/// The numbers of rows of the micro-batches that a rank has computed. cuDNN makes a plan for each
/// one when it first occurs, which takes about a second.
class ShapesSeen {
  public:
    void computed(std::int64_t rows)
    {
        if (seen_.insert(rows).second) new_.push_back(rows);
    }
    /// Ends a step. Returns the numbers that no step computed before, in the order in which they
    /// occurred. Returns none for the first step, which always has new ones.
    [[nodiscard]] std::vector<std::int64_t> end_step()
    {
        auto found = std::exchange(new_, {});
        if (!std::exchange(first_step_, false)) return found;
        return {};
    }

  private:
    std::set<std::int64_t> seen_;
    std::vector<std::int64_t> new_;
    bool first_step_{true};
};

}  // namespace curtail::trainer
