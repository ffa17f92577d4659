// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "trainer/engine/engine.hpp"
#include "trainer/snapshot/reader.hpp"
#include "trainer/snapshot/writer.hpp"

namespace curtail::trainer {

/// Where a site's snapshots are, and what is in them.
struct SnapshotFiles {
    std::filesystem::path folder;  ///< the site's folder
    /// With the weights (Engine::masters()). The weights of a run are in its store, so snapshots
    /// have them only if there is no store.
    bool with_weights{};
};

/// One rank's part of a site's snapshots: the optimizer's state for its ranges of the weights, and
/// perhaps these weights. `engine` must outlive the object.
class RankSnapshots {
  public:
    RankSnapshots(Engine& engine, SnapshotFiles files);

    /// Begins to save. A failure becomes the result.
    void begin(snapshot::Metadata const& metadata, snapshot::Place const& place);
    /// Returns the result of the last begin(), if it is finished within `limit`. Returns the same
    /// result until the next begin(). Throws std::logic_error before the first one.
    [[nodiscard]] std::optional<Result<void>> result(Millis limit);

    /// Reads this rank's part from the snapshot with this number. Fails with `data` if the folder
    /// has no such snapshot. After a failure, the state of the engine is undefined.
    [[nodiscard]] Result<void> restore(std::int64_t serial);
    [[nodiscard]] bool with_weights() const { return files_.with_weights; }

  private:
    Engine& engine_;
    SnapshotFiles files_;
    snapshot::Writer writer_;
    std::optional<Result<void>> result_;
};

}  // namespace curtail::trainer
