// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace curtail::test {

/// Programs take options from the environment too (CURTAIL_<OPTION>). Those of whoever runs the
/// tests are forgotten before any test runs, where this is included; two are the tests' own.
inline bool const options_are_forgotten = [] {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        std::string_view const text(*entry);
        auto const name = text.substr(0, text.find('='));
        if (name.substr(0, 8) == "CURTAIL_" && name != "CURTAIL_SEED" &&
            name != "CURTAIL_GOLDEN_DIR")
            names.emplace_back(name);
    }
    for (auto const& name : names) unsetenv(name.c_str());
    return true;
}();

}  // namespace curtail::test
