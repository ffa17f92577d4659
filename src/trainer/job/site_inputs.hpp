// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/digest.hpp"
#include "base/core/log.hpp"
#include "base/core/time_limit.hpp"
#include "run/config/run.hpp"
#include "trainer/data/loader.hpp"

namespace curtail::trainer {

/// What every rank reads by itself before it takes part in a collective operation.
struct SiteInputs {
    config::Run run;
    config::Site site;
    data::Loader loader;
    Digest manifest;  ///< digest of the data's manifest.json
};

/// Returns the site of this name. Fails with `config` if the run file has none.
[[nodiscard]] Result<config::Site> find_site(config::Run const& run,
                                             std::filesystem::path const& run_file,
                                             SiteId const& site);

/// Returns a limit for what a rank reads at its start, such as "the data": `limit`, or as long as
/// the others wait for it then, if that is longer. A file server may hang.
[[nodiscard]] TimeLimit limit_reads(std::string const& what, Log const& log, Millis limit = {});

/// Reads the run file and opens the data. Fails with `config` if the run file has no site `site` or
/// if the run's model or token budget does not fit the data. Fails with `unavailable` if the loaded
/// LibTorch is not the version with which Curtail was built.
[[nodiscard]] Result<SiteInputs> read_inputs(std::filesystem::path const& run_file,
                                             SiteId const& site);

}  // namespace curtail::trainer
