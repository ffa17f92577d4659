// SPDX-License-Identifier: Apache-2.0
#include "base/core/secret.hpp"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

namespace curtail {

Secret& Secret::operator=(Secret&& other) noexcept
{
    if (this == &other) return *this;
    wipe();
    text_ = std::move(other.text_);
    other.text_.clear();
    return *this;
}

void Secret::wipe()
{
    if (!text_.empty()) explicit_bzero(text_.data(), text_.size());
}

Result<void> hide_process_memory()
{
    rlimit const none{0, 0};
    // The limit is ignored where core_pattern names a program; PR_SET_DUMPABLE also covers that.
    if (setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0) return {};
    return fail(ExitCode::os_error, "cannot protect secrets in memory", errno_text(errno));
}

void wipe(std::string& text)
{
    if (!text.empty()) explicit_bzero(text.data(), text.size());
    text.clear();
}

}  // namespace curtail
