// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "run/config/run.hpp"

namespace curtail::programs {

/// Returns whether a folder of this mode lets users other than its owner replace files of the
/// owner: it is writable for the group or for all users, and lacks the sticky bit.
[[nodiscard]] constexpr bool lets_others_replace_files(unsigned mode)
{
    return (mode & 022U) != 0 && (mode & 01000U) == 0;
}

/// Returns a warning about the first of these folders whose mode lets other users replace files:
/// the run's folder, the poller's folder, and the folders of all its sites. Ignores missing
/// folders. Returns an empty text if there is no such folder.
[[nodiscard]] std::string warning_of_shared_folders(config::Run const& run);

}  // namespace curtail::programs
