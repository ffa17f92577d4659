// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <memory>
#include <string_view>

#include "base/core/json.hpp"
#include "base/core/log.hpp"
#include "base/core/result.hpp"

namespace curtail::programs {

/// The output of a command: results go to stdout, log lines to stderr.
struct Console {
    Log log;           ///< writes to stderr
    bool json{false};  ///< true with `--json`: the result is one JSON document
    /// The umask of whoever started the program. Only files for other people follow it.
    mode_t user_umask{022};
    /// Writes a part of the result to stdout, as printable_lines(): it may contain text that
    /// somebody else wrote. Writes nothing if an earlier write has failed.
    void print(std::string_view text) const;
    /// As print(), but without a change to the text. For data, and for commands to the terminal.
    void print_exactly(std::string_view text) const;
    void print_json(json::Value const& document) const;
    /// errno of the first failed write, or 0. Copies of the Console share this number.
    std::shared_ptr<int> output_error = std::make_shared<int>(0);
};

/// Fails with `io` if a part of the result did not reach stdout. A closed pipe, as in `... | head`,
/// is not an error.
[[nodiscard]] Result<void> finish_output(Console const& console);

}  // namespace curtail::programs
