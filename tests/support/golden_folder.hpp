// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>

#include "support/paths.hpp"

namespace curtail::test {

/// Folder of the golden vectors: CURTAIL_GOLDEN_DIR if set and not empty, otherwise the project's
/// own copy.
inline std::filesystem::path golden_folder()
{
    char const* const stated = std::getenv("CURTAIL_GOLDEN_DIR");
    return stated != nullptr && *stated != '\0' ? stated : test::source_path("tests/golden");
}

}  // namespace curtail::test
