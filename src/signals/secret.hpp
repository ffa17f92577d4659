// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/core.h>

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace curtail::signals {

/// A password or token. Not copied, printed as `***`, compared in constant time, overwritten when
/// it goes.
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
    /// The text itself, ended by NUL: for handing it to what needs it, and for nothing else.
    [[nodiscard]] char const* reveal() const { return text_.empty() ? "" : text_.data(); }
    friend bool operator==(Secret const& a, Secret const& b);

  private:
    void wipe();
    std::vector<char>
        text_;  ///< with its NUL; a vector, because moving a short std::string leaves a copy behind
};

std::ostream& operator<<(std::ostream& out, Secret const&);

/// Before a secret is read: no core file will hold this process's memory, and the user's other
/// processes cannot read it. Programs that it starts are as before, but for core files.
[[nodiscard]] Result<void> guard_memory();

/// Overwrites a text that held a secret, so that it does not stay behind in freed memory.
void wipe(std::string& text);

}  // namespace curtail::signals

template <>
struct fmt::formatter<curtail::signals::Secret> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(curtail::signals::Secret const&, Context& context) const
    {
        return fmt::formatter<std::string_view>::format("***", context);
    }
};
