// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace curtail::test {

/// Value of an environment variable that CMake sets for every test. Throws if it is not set.
inline std::filesystem::path path_from_environment(char const* name)
{
    char const* value = std::getenv(name);
    if (value == nullptr || *value == '\0')
        throw std::runtime_error(std::string(name) + " is not set; run the test through ctest");
    return value;
}

/// The folder of the checkout.
inline std::filesystem::path source_folder()
{
    return path_from_environment("CURTAIL_TEST_SOURCE_DIR");
}

/// A file of the checkout, such as `inputs/runs/demo.json`.
inline std::string source_path(std::string const& relative) { return source_folder() / relative; }

/// A program of this build, such as `curtail-poll`.
inline std::string program_path(std::string const& name)
{
    return path_from_environment("CURTAIL_TEST_BIN_DIR") / name;
}

}  // namespace curtail::test
