// SPDX-License-Identifier: Apache-2.0
#include "core/log.hpp"

#include <unistd.h>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail {

Log Log::to_stderr(std::string program, Level least)
{
    return Log(
        [program = std::move(program)](Level level, std::string_view text) {
            static constexpr char const* words[] = {"debug: ", "", "warning: ", "error: "};
            auto line = format_time(SystemClock{}.now()) + " " + program + " " +
                        words[static_cast<int>(level)];
            line.append(printable(text)).push_back('\n');
            // A log that cannot be written must not stop the work it speaks of.
            [[maybe_unused]] int const ignored = write_all(STDERR_FILENO, line);
        },
        least);
}

}  // namespace curtail
