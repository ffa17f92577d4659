// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace curtail::launch {

/// Returns the last error message in the text of a job's log: the last line with `error: `, or that
/// a program of Curtail or the job script wrote as its error. If there is none, returns the last
/// line that is not empty. The result is printable and has at most 300 characters.
[[nodiscard]] std::string last_error_in(std::string_view log);

/// Returns the last error message in the log file `path`, and the path: `TEXT (log: PATH)`. Returns
/// only the path if the log cannot be read or is empty. Reads at most the last 64 KiB.
[[nodiscard]] std::string cause_in_log(std::filesystem::path const& path);

}  // namespace curtail::launch
