// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "launch/kernel.hpp"

namespace curtail::launch {

/// A script to run detached from the caller, and the files that record it. All text is complete
/// before the fork.
struct SupervisedScript {
    std::vector<std::string> arguments;  ///< the first is an executable file
    std::vector<std::pair<std::string, std::string>> environment;  ///< complete
    std::string folder;                                            ///< working folder
    std::string log;          ///< stdout and stderr are appended to it
    std::string record;       ///< created before the script starts; if it exists, nothing starts
    std::string record_head;  ///< the record consists of this head,
                              ///< `"script":{"pid":P,"started":S},"keeper":{...}` and the tail
    std::string record_tail;
    std::string exit_file;  ///< receives the exit code in decimal; 128 + n if signal n ended it
};

/// Starts a supervisor process in the background, which starts the script and waits for it. Returns
/// when the record is on disk, or `os_error` if nothing was started.
[[nodiscard]] Result<void> start_supervised(SupervisedScript const& script,
                                            Kernel const& kernel = {});

}  // namespace curtail::launch
