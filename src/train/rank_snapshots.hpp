// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "snapshot/reader.hpp"
#include "snapshot/writer.hpp"
#include "train/engine.hpp"

namespace curtail::train {

/// One rank's part of a site's snapshots: its pieces of the weights, and the optimizer's state for
/// them. `engine` must outlive the object.
class RankSnapshots {
  public:
    /// `folder` is the site's folder.
    RankSnapshots(Engine& engine, std::filesystem::path folder);

    /// Begins to save. A failure becomes the result.
    void begin(snapshot::Head const& head, snapshot::Place const& place);
    /// Returns the result of the last begin(), if it is finished within `limit`. Returns the same
    /// result until the next begin(). Throws std::logic_error before the first one.
    [[nodiscard]] std::optional<Result<void>> result(Millis limit);

    /// Reads this rank's state of the optimizer from the snapshot with this number, and also its
    /// weights (Engine::masters()) if `with_weights`. Fails with `data` if the folder has no such
    /// snapshot. After a failure, this state is undefined.
    [[nodiscard]] Result<void> restore(std::int64_t serial, bool with_weights);

  private:
    Engine& engine_;
    std::filesystem::path folder_;
    snapshot::Writer writer_;
    std::optional<Result<void>> result_;
};

}  // namespace curtail::train
