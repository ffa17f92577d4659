// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/core/json.hpp"
#include "base/core/log.hpp"
#include "run/config/run.hpp"
#include "trainer/comm/collectives.hpp"

namespace curtail::trainer {

struct StepOutcome;

/// The facts that determine how many rows a rank can compute at once.
struct RowFacts {
    std::string device;     ///< name of the leader's GPU; empty for a CPU
    int ranks{1};           ///< of the site
    at::ScalarType type{};  ///< in which they compute
};

/// The number of rows that fitted into the memory of the ranks. The leader keeps this number in the
/// site's folder (docs/formats-run.md), so that the next start need not run out of memory to find
/// it.
class FittingRows {
  public:
    /// `folder` is the site's folder.
    FittingRows(std::filesystem::path const& folder, config::Run const& run, RowFacts const& facts);
    /// Returns the number of rows that a rank should compute at once. It is the one that the leader
    /// has kept, if it was found under the same facts. Otherwise it is that of the run file. The
    /// leader logs that it uses a kept one, or that the file cannot be read. Every rank must call
    /// this function, and gets the same number. Throws comm::CommError.
    [[nodiscard]] std::int64_t at_start(comm::Collectives& ranks, Log const& log);
    /// If the ranks have made their micro-batches smaller, for want of memory, logs and keeps the
    /// number of rows. A failure to keep it is only logged. Call it after every step.
    void note(StepOutcome const& outcome, Log const& log);

  private:
    [[nodiscard]] Result<std::optional<std::int64_t>> kept() const;

    std::filesystem::path file_;
    json::Object facts_;
    std::int64_t configured_;
    std::int64_t rows_;
};

}  // namespace curtail::trainer
