// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/core/time.hpp"

namespace curtail::runlog {

/// What other programs than the trainer read of a site's `status.json`.
struct TrainerStatus {
    Time time;        ///< real time at which the trainer wrote the file
    std::string job;  ///< job id, from Slurm or the local launcher; empty: started without a job.
                      ///< It has passed through printable() (base/core/text.hpp)
    friend bool operator==(TrainerStatus const&, TrainerStatus const&) = default;
};

/// Reads the file `path`. Returns an empty optional if the file is missing or damaged: it is only
/// for display, and the trainer replaces it about once per second.
[[nodiscard]] std::optional<TrainerStatus> read_trainer_status(std::filesystem::path const& path);

}  // namespace curtail::runlog
