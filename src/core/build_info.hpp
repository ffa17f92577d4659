// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "core/json.hpp"

namespace curtail {

/// How this binary was built. Part of every result file and of `--version`.
struct BuildInfo {
    std::string version;
    std::string commit;  ///< of the source; ends with `+` if the tree had changes; `unknown`
                         ///< outside git
    std::string compiler;
    std::string build_type;
    std::string sanitizers;
    std::string torch;  ///< LibTorch version
    std::string hdf5;
    std::string mpi;
};

[[nodiscard]] BuildInfo const& build_info();
/// Several lines, for `--version`.
[[nodiscard]] std::string build_text(std::string const& program);
[[nodiscard]] json::Object build_json();

}  // namespace curtail
