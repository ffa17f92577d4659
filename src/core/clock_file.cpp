// SPDX-License-Identifier: Apache-2.0
#include "core/clock_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "core/files.hpp"
#include "core/json.hpp"

namespace curtail {

std::filesystem::path clock_file(std::filesystem::path const& run_folder)
{
    return run_folder / "clock.json";
}

Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder)
{
    auto const path = clock_file(run_folder);
    auto const text = read_file_if_there(path, json::record_limits.bytes);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return std::optional<TimeScale>{};
    auto const value =
        json::parse(**text, path.string(), json::Dialect::strict, json::record_limits);
    if (!value) return tl::unexpected(value.error());
    json::ObjectReader r(*value, path.string());
    auto const origin = parse_time(r.text("origin"));
    auto const real_origin = parse_time(r.text("real_origin"));
    double const factor = r.number("factor");
    r.require(origin.has_value(), "origin", "must be a time with a zone");
    r.require(real_origin.has_value(), "real_origin", "must be a time with a zone");
    r.require(factor > 0 && factor <= 1e6, "factor", "must be more than 0 and at most 1e6");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return std::optional(TimeScale{*origin, *real_origin, factor});
}

Result<TimeScale> make_clock(std::filesystem::path const& run_folder, TimeScale const& wanted)
{
    auto const path = clock_file(run_folder);
    json::Object const content{{"origin", format_time(wanted.origin)},
                               {"real_origin", format_time(wanted.real_origin)},
                               {"factor", wanted.factor}};
    auto const temporary = run_folder / (".clock.json." + std::to_string(getpid()));
    if (auto written = write_file(temporary, json::to_string(content) + "\n"); !written)
        return tl::unexpected(written.error());
    int const error = link(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
    unlink(temporary.c_str());
    if (error != 0 && error != EEXIST)
        return fail(ExitCode::cannot_create, "cannot make " + path.string(), errno_text(error));
    auto const clock = read_clock(run_folder);
    if (!clock) return tl::unexpected(clock.error());
    if (!*clock) return fail(ExitCode::io, "cannot read " + path.string(), "it has gone again");
    return **clock;
}

}  // namespace curtail
