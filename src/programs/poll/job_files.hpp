// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "run/config/run.hpp"

namespace curtail::programs {

/// Checks the files that a site's launcher needs for the next job. The script and the prologue must
/// be regular files that this process can read; a local job's script must be executable. The file
/// of `slurm_conf` may be missing, because the cluster may be down, but must not be a folder.
///
/// Returns an error with the code `config` for the first file that breaks a rule. Returns an empty
/// optional if there is none.
[[nodiscard]] std::optional<Error> find_bad_job_file(std::vector<config::Site const*> const& sites);

}  // namespace curtail::programs
