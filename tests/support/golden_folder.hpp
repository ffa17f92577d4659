// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>

namespace curtail::test {

/// Where the golden vectors lie: CURTAIL_GOLDEN_DIR if it says anything, else the project's own
/// copy.
inline std::filesystem::path golden_folder()
{
    char const* const stated = std::getenv("CURTAIL_GOLDEN_DIR");
    return stated != nullptr && *stated != '\0' ? stated : CURTAIL_SOURCE_DIR "/tests/golden";
}

}  // namespace curtail::test
