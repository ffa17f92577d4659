// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.hpp"

namespace curtail {

/// A password or token. It can be neither copied nor printed, and is overwritten in memory when it
/// is destroyed.
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
    /// Returns the plain text, which ends with a NUL and belongs to this object. Pass the text only
    /// to functions that need it.
    [[nodiscard]] char const* reveal() const { return text_.empty() ? "" : text_.data(); }

  private:
    void wipe();
    /// The text with a NUL at its end. This is not a std::string, because moving a short
    /// std::string would leave a copy of the text behind.
    std::vector<char> text_;
};

/// Disables core files, and hides this process's memory from other processes of the same user. Call
/// this function before reading a secret. Core files stay disabled in child processes, but the
/// memory of child processes is not hidden. Fails with `os_error` if the system refuses.
[[nodiscard]] Result<void> hide_process_memory();

/// Overwrites and then empties `text`, so that the secret in it does not remain in freed memory.
void wipe(std::string& text);

}  // namespace curtail
