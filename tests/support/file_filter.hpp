// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace curtail::test {

/// With the arguments `--file FILE`, selects the tests that the source file FILE defines. FILE may
/// be the end of a path. Returns false if FILE defines no tests.
inline bool select_tests_of_file(int argc, char const* const* argv)
{
    if (argc < 3 || std::string_view(argv[1]) != "--file") return true;
    std::string_view const wanted = argv[2];
    std::string filter;
    auto const& all = *testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
        auto const& suite = *all.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); ++t) {
            auto const& info = *suite.GetTestInfo(t);
            std::string_view const file = info.file();
            if (file.size() < wanted.size() || file.substr(file.size() - wanted.size()) != wanted)
                continue;
            filter +=
                std::string(filter.empty() ? "" : ":") + info.test_suite_name() + "." + info.name();
        }
    }
    GTEST_FLAG_SET(filter, filter);
    if (filter.empty()) std::fprintf(stderr, "%s: no test in %s\n", argv[0], argv[2]);
    return !filter.empty();
}

}  // namespace curtail::test
