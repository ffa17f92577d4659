// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.hpp"
#include "base/process/kernel.hpp"

namespace curtail::launch {

/// A script to run detached from the caller, and the files that record it. The caller builds all
/// strings before the fork, because the child must not allocate memory.
struct SupervisedScript {
    std::vector<std::string> arguments;  ///< the first is the path of an executable file
    std::vector<std::pair<std::string, std::string>> environment;  ///< all variables of the script
    std::string folder;                                            ///< the script's working folder
    std::string log;  ///< file to which the script's stdout and stderr are appended
    /// File created before the script starts. If it already exists, start_supervised() fails.
    std::string record;
    /// The record consists of `record_head`, `"script":{"pid":P,"started":S},"keeper":{...}` and
    /// `record_tail`. P and S are `pid` and `started` of ProcessIdentity. `keeper` is the
    /// supervisor process, with the same two keys.
    std::string record_head;
    std::string record_tail;
    std::string exit_file;  ///< file that receives the exit code in decimal; 128 + n if signal n
                            ///< ended the script
};

/// Starts a supervisor process in the background, which starts the script and waits for its end.
/// Returns when the record is on disk. Fails with `cannot_create` if the log cannot be opened, is a
/// symbolic link or is no regular file. Fails with `os_error` if the script was not started for
/// another reason.
[[nodiscard]] Result<void> start_supervised(SupervisedScript const& script,
                                            process::Kernel const& kernel = {});

}  // namespace curtail::launch
