// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "config/run.hpp"
#include "core/digest.hpp"
#include "data/loader.hpp"

namespace curtail::train {

/// Everything that a rank reads before the ranks start to depend on each other.
struct SiteInputs {
    config::Run run;
    config::Site site;
    data::Loader loader;
    Digest manifest;  ///< of the data
};

/// Reads the run file and opens the data. Fails with `unavailable` if LibTorch is another version
/// than at build time.
[[nodiscard]] Result<SiteInputs> read_inputs(std::filesystem::path const& run_file,
                                             SiteId const& site);

}  // namespace curtail::train
