// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "support/file_filter.hpp"

int main(int argc, char** argv)
{
    testing::InitGoogleMock(&argc, argv);
    return curtail::test::select_tests_of_file(argc, argv) ? RUN_ALL_TESTS() : 1;
}
