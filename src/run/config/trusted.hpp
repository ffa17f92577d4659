// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/trust.hpp"
#include "run/config/run.hpp"

namespace curtail::config {

/// Returns who may change a run's folders and its store: the user, and the members of
/// Run::shared_group.
[[nodiscard]] Trust trust_in_folders(Run const& run);

/// Checks that nobody else can change the files and folders that decide what a run does: the run,
/// model and site files, the run's folder, its folders of poller and sites, and a store in a
/// folder. Missing folders are no error.
///
/// Returns an empty text, or a warning about a folder above one of these. Fails with `permission`.
[[nodiscard]] Result<std::string> check_access(Run const& run);

/// Reads a run as read_run() does, and then checks it as check_access() does, for a program that
/// acts on the run.
[[nodiscard]] Result<Run> read_trusted_run(std::filesystem::path const& file);
/// Creates the run's folder if it is missing. In a shared run it belongs to the group, with the
/// set-group-id bit. Its sticky bit keeps members from replacing what other members own in it. From
/// then on, new files of this process are open to the group. Programs that write into the folder of
/// a run call this first.
[[nodiscard]] Result<void> make_run_folder(Run const& run);
/// Creates the folder of the poller: open to its user only, or to the group of a shared run.
[[nodiscard]] Result<void> make_poller_folder(Run const& run);
/// Creates the folder of a store in a folder, for a new run.
[[nodiscard]] Result<void> make_store_folder(Run const& run);
/// Creates the folder Run::job_logs() with mode 0700. In a shared run, nobody else may be able to
/// replace a folder above it.
[[nodiscard]] Result<void> make_job_logs(Run const& run, SiteId const& site);

}  // namespace curtail::config
