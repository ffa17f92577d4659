// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace curtail::launch {

/// Null-terminated argument and environment arrays for execve. Build them before a fork: a child
/// must not allocate.
class CStrings {
  public:
    explicit CStrings(std::vector<std::string> strings) : strings_(std::move(strings)) { point(); }
    explicit CStrings(std::vector<std::pair<std::string, std::string>> const& variables)
    {
        for (auto const& [name, value] : variables)
            strings_.emplace_back(name).append("=").append(value);
        point();
    }
    CStrings(CStrings const&) = delete;
    CStrings& operator=(CStrings const&) = delete;
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

}  // namespace curtail::launch
