// SPDX-License-Identifier: Apache-2.0
#include "base/core/log.hpp"

#include <unistd.h>

#include "base/core/clock.hpp"
#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail {

Log Log::to_stderr(std::string program, Level minimum)
{
    return Log(
        [program = std::move(program)](Level level, std::string_view text) {
            static constexpr char const* prefixes[] = {"debug: ", "", "warning: ", "error: "};
            auto line = format_time(SystemClock{}.now()) + " " + program + " " +
                        prefixes[static_cast<int>(level)];
            line.append(printable(text)).push_back('\n');
            // A failed log write must not stop the work.
            [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
        },
        minimum);
}

}  // namespace curtail
