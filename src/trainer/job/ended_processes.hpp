// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <set>

#include "base/core/log.hpp"

namespace curtail::trainer {

/// Returns the nonces (protocol::Process) of the earlier processes that have used a site's folder,
/// and adds `nonce` to them. The caller holds the lock of the folder, so these have ended.
///
/// They are in the file `processes.json`, which names the lock by its inode: in a copy of the
/// folder, the file says nothing, because a process may still be using the original. If the file
/// cannot be read, no earlier process is known. If it cannot be written, `log` gets a warning. In
/// both cases, the next process only waits longer before it joins (docs/rounds.md).
[[nodiscard]] std::set<std::uint32_t> ended_processes(std::filesystem::path const& folder,
                                                      std::uint32_t nonce, Log const& log);

}  // namespace curtail::trainer
