// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/json.hpp"

namespace curtail {

/// A description of how this binary was built. `--version` prints it, and the trainer's
/// event `trainer-start` contains it.
struct BuildInfo {
    std::string version;
    std::string commit;  ///< git commit of the source; `+` follows if a tracked file has
                         ///< uncommitted changes; `unknown` if git fails
    std::string compiler;
    std::string build_type;
    std::string sanitizers;  ///< empty if there are none
    std::string torch;       ///< version of LibTorch; empty if this build lacks it
    std::string hdf5;
    std::string mpi;
};

[[nodiscard]] BuildInfo const& build_info();
/// Returns the output of `--version` for `program`, in several lines.
[[nodiscard]] std::string build_text(std::string const& program);
/// Returns build_info() as JSON.
[[nodiscard]] json::Object build_json();

}  // namespace curtail
