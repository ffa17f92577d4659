// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace curtail::process {

/// Owns strings and a null-terminated array of pointers to them, as execve takes for arguments and
/// environment. Construct it before a fork, because a child must not allocate memory between fork
/// and execve.
class CStrings {
  public:
    explicit CStrings(std::vector<std::string> strings) : strings_(std::move(strings)) { point(); }
    /// Makes a string `name=value` of each variable.
    explicit CStrings(std::vector<std::pair<std::string, std::string>> const& variables)
    {
        for (auto const& [name, value] : variables)
            strings_.emplace_back(name).append("=").append(value);
        point();
    }
    CStrings(CStrings const&) = delete;
    CStrings& operator=(CStrings const&) = delete;
    /// Returns the array, which lives as long as this object.
    [[nodiscard]] char* const* data() const { return pointers_.data(); }

  private:
    void point()
    {
        for (auto& s : strings_) pointers_.push_back(s.data());
        pointers_.push_back(nullptr);
    }
    std::vector<std::string> strings_;
    std::vector<char*> pointers_;
};

}  // namespace curtail::process
