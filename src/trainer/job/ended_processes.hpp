// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <set>

#include "base/core/log.hpp"

namespace curtail::trainer {

/// Returns the nonces (protocol::Process) of the earlier processes that have used a site's folder
/// and have certainly ended, and adds `nonce` to the list of these processes. The lock of the
/// folder is no proof: it may hold on one machine only, or not at all. A process has ended if it
/// began on this boot of this machine and does not run any more.
///
/// The list is the file `processes.json`, which names the lock by its device and inode: in a copy
/// of the folder, the file says nothing, because a process may still be using the original. If the
/// file cannot be read, no earlier process is known. If it cannot be written, `log` gets a warning.
/// In both cases, the next process only waits longer before it joins (docs/rounds.md).
[[nodiscard]] std::set<std::uint32_t> ended_processes(std::filesystem::path const& folder,
                                                      std::uint32_t nonce, Log const& log);

}  // namespace curtail::trainer
