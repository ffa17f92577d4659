#include "poll/clock_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "core/files.hpp"
#include "core/json.hpp"

namespace curtail::poll {

Result<TimeScale> make_clock(std::filesystem::path const& run_folder, TimeScale const& wanted)
{
    auto const path = clock_file(run_folder);
    json::Object const content{
        {"origin", format_time(wanted.origin)}, {"real_origin", format_time(wanted.real_origin)}, {"factor", wanted.factor}};
    auto const temporary = run_folder / (".clock.json." + std::to_string(getpid()));
    if (auto written = write_file(temporary, json::to_string(content) + "\n"); !written) return tl::unexpected(written.error());
    int const error = link(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
    unlink(temporary.c_str());
    if (error != 0 && error != EEXIST) return fail(ExitCode::cannot_create, "cannot make " + path.string(), errno_text(error));
    auto const clock = read_clock(run_folder);
    if (!clock) return tl::unexpected(clock.error());
    if (!*clock) return fail(ExitCode::io, "cannot read " + path.string(), "it has gone again");
    return **clock;
}

}  // namespace curtail::poll
