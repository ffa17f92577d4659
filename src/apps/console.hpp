// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string_view>

#include "core/json.hpp"
#include "core/log.hpp"
#include "core/result.hpp"

namespace curtail::apps {

/// Where a command writes: results to stdout, log lines to stderr.
struct Console {
    Log log;           ///< to stderr
    bool json{false};  ///< with `--json`: the result is one JSON document
    /// Writes a part of the result to stdout. The first error is kept for finish_output.
    void print(std::string_view text) const;
    void print_json(json::Value const& document) const;
    /// errno of the first failed write; copies share it.
    std::shared_ptr<int> output_error = std::make_shared<int>(0);
};

/// Error `io` unless the whole result has reached stdout. A reader that closed its pipe (`| head`)
/// is not an error.
[[nodiscard]] Result<void> finish_output(Console const& console);

}  // namespace curtail::apps
