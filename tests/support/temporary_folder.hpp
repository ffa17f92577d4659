// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace curtail::test {

/// A new folder for one test; the destructor deletes it with its contents.
class TemporaryFolder {
  public:
    explicit TemporaryFolder(
        std::filesystem::path const& parent = std::filesystem::temp_directory_path())
    {
        auto pattern = (parent / "curtail-test-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
            throw std::runtime_error("cannot create a folder in " + parent.string());
        path_ = pattern;
    }
    ~TemporaryFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(TemporaryFolder const&) = delete;
    TemporaryFolder& operator=(TemporaryFolder const&) = delete;
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    [[nodiscard]] std::filesystem::path operator/(std::string const& name) const
    {
        return path_ / name;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace curtail::test
