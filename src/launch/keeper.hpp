// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "core/result.hpp"

namespace curtail::launch {

/// A script to run detached, and the files that tell of it. All text is made ready before the fork.
struct KeptScript {
    std::vector<std::string> arguments;  ///< the first is an executable file
    std::vector<std::pair<std::string, std::string>> environment;
    std::string folder;  ///< working folder
    std::string log;     ///< stdout and stderr are appended to it
    std::string
        record;  ///< created before the script starts, unless it exists: then nothing starts
    std::string
        record_head;  ///< the record is head, `"script":{"pid":P,"started":S},"keeper":{...}`, tail
    std::string record_tail;
    std::string exit_file;  ///< gets the exit code in decimal; 128 + n if ended by signal n
};

/// Starts a keeper process in the background that starts the script and waits for it. Returns when
/// the record is on disk or nothing was started (`os_error`).
[[nodiscard]] Result<void> start_kept(KeptScript const& script);

}  // namespace curtail::launch
