// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace curtail {

/// A password or token. It cannot be copied, prints as `***`, compares in constant time, and is
/// overwritten in memory when it is destroyed.
class Secret {
  public:
    Secret() = default;
    explicit Secret(std::string_view text) : text_(text.begin(), text.end())
    {
        text_.push_back('\0');
    }
    ~Secret() { wipe(); }
    Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.text_.clear(); }
    Secret& operator=(Secret&& other) noexcept;
    Secret(Secret const&) = delete;
    Secret& operator=(Secret const&) = delete;

    [[nodiscard]] bool empty() const { return text_.size() <= 1; }
    /// The plain text, NUL-terminated. Pass it only to the function that needs it.
    [[nodiscard]] char const* reveal() const { return text_.empty() ? "" : text_.data(); }
    friend bool operator==(Secret const& a, Secret const& b);

  private:
    void wipe();
    /// With its NUL. A vector, because moving a short std::string leaves a copy behind.
    std::vector<char> text_;
};

std::ostream& operator<<(std::ostream& out, Secret const&);

/// Disables core files and hides this process's memory from the user's other processes. Call it
/// before reading a secret. Child processes inherit only the disabled core files.
[[nodiscard]] Result<void> guard_memory();

/// Overwrites and empties a text that held a secret, so that no copy stays in freed memory.
void wipe(std::string& text);

}  // namespace curtail

template <>
struct fmt::formatter<curtail::Secret> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(curtail::Secret const&, Context& context) const
    {
        return fmt::formatter<std::string_view>::format("***", context);
    }
};
