// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "base/core/call_limits.hpp"
#include "base/core/files.hpp"
#include "base/core/log.hpp"
#include "run/journal/publisher.hpp"
#include "run/runlog/held_out.hpp"

namespace curtail::follow {

/// A site's `evaluation.jsonl`, and its copy in the store. Only one process at a time has it.
class EvaluationLog {
  public:
    /// Takes the lock in the file's folder, which it creates if it is missing. `run` must outlive
    /// the object. Fails with `temporary` if another process has the lock.
    [[nodiscard]] static Result<EvaluationLog> open(config::Run const& run, SiteId const& site,
                                                    std::shared_ptr<store::ObjectStore> store,
                                                    Log const& log);

    /// Reads the lines that are published, and those that only the local file has. Logs what is
    /// missing in the store. Fails if the store or the file cannot be read.
    [[nodiscard]] Result<void> read();
    [[nodiscard]] std::vector<runlog::HeldOutLine> const& lines() const { return lines_; }

    /// Appends a line to the local file, and syncs the file to disk.
    [[nodiscard]] Result<void> append(runlog::HeldOutLine line);
    /// Publishes what the store lacks. Logs an error when it begins or changes. Returns true if
    /// nothing is left to publish.
    bool publish(CallLimits const& call) { return publisher_.publish(call); }

  private:
    EvaluationLog(config::Run const& run, SiteId site, std::shared_ptr<store::ObjectStore> store,
                  Log const& log, FileLock lock);

    config::Run const& run_;
    SiteId site_;
    std::shared_ptr<store::ObjectStore> store_;
    Log log_;
    FileLock lock_;
    journal::Publisher publisher_;
    std::vector<runlog::HeldOutLine> lines_;
};

}  // namespace curtail::follow
