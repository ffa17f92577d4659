// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "core/json.hpp"

namespace curtail {

/// What this binary was made from; part of every result file and of `--version`.
struct BuildInfo {
    std::string version;
    std::string commit;  ///< of the source, with `+` if the tree had changes; `unknown` outside git
    std::string compiler;
    std::string build_type;
    std::string sanitizers;
    std::string torch;  ///< the LibTorch it was built against
    std::string hdf5;
    std::string mpi;
};

[[nodiscard]] BuildInfo const& build_info();
[[nodiscard]] std::string build_text(
    std::string const& program);  ///< several lines, for `--version`
[[nodiscard]] json::Object build_json();

}  // namespace curtail
