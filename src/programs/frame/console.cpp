// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/console.hpp"

#include <unistd.h>

#include <cerrno>

#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::programs {

void Console::print(std::string_view text) const { print_exactly(printable_lines(text)); }

void Console::print_exactly(std::string_view text) const
{
    if (*output_error == 0) *output_error = write_all(STDOUT_FILENO, text);
}

void Console::print_json(json::Value const& document) const { print(json::to_pretty(document)); }

Result<void> finish_output(Console const& console)
{
    int error = *console.output_error;
    if (error == 0) {
        // A network file system may report a full disk only when a descriptor is closed.
        int const copy = dup(STDOUT_FILENO);
        if (copy >= 0 && close(copy) != 0) error = errno;
    }
    if (error == 0 || error == EPIPE) return {};
    return fail(ExitCode::io, "cannot write to standard output", errno_text(error),
                "all other work is complete; free disk space and run the command again");
}

}  // namespace curtail::programs
