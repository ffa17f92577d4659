// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace curtail::test {

/// Programs also read options from the environment (CURTAIL_<OPTION>). This header unsets these
/// variables before any test runs, but keeps the variables that configure the tests. It sets
/// CURTAIL_CACHE, so that tests leave nothing in the cache of the user, and CURTAIL_ALLOW_ROOT.
inline bool const options_are_unset = [] {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string_view const text(*entry);
        auto const name = text.substr(0, text.find('='));
        if (name.substr(0, 8) == "CURTAIL_" && name.substr(0, 13) != "CURTAIL_TEST_" &&
            name != "CURTAIL_SEED" && name != "CURTAIL_GOLDEN_DIR")
            names.emplace_back(name);
    }
    for (auto const& name : names) unsetenv(name.c_str());
    return setenv("CURTAIL_CACHE", "none", 1) == 0 && setenv("CURTAIL_ALLOW_ROOT", "1", 1) == 0;
}();

}  // namespace curtail::test
