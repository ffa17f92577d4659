// SPDX-License-Identifier: Apache-2.0
#include "base/core/clock_file.hpp"

#include "base/core/files.hpp"
#include "base/core/json.hpp"

namespace curtail {
namespace {

TimeScale read_scale(json::ObjectReader& r)
{
    auto const origin = parse_time(r.text("origin"));
    auto const real_origin = parse_time(r.text("real_origin"));
    double const factor = r.number("factor");
    r.require(origin.has_value(), "origin", "must be a time with a time zone");
    r.require(real_origin.has_value(), "real_origin", "must be a time with a time zone");
    r.require(factor > 0 && factor <= 1e6, "factor", "must be more than 0 and at most 1e6");
    return {origin.value_or(Time{}), real_origin.value_or(Time{}), factor};
}

}  // namespace

std::filesystem::path clock_file(std::filesystem::path const& run_folder)
{
    return run_folder / "clock.json";
}

Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder)
{
    auto clock = json::read_record(clock_file(run_folder), read_scale);
    if (!clock && clock.error().code != ExitCode::io)
        clock.error().remedy =
            "restore it from a copy, or write it again: docs/formats-run.md has its keys, and the "
            "header of each published piece of the site's logs has their values as `clock`";
    return clock;
}

Result<TimeScale> make_clock(std::filesystem::path const& run_folder, TimeScale const& scale)
{
    auto const path = clock_file(run_folder);
    json::Object const content{{"origin", format_time(scale.origin)},
                               {"real_origin", format_time(scale.real_origin)},
                               {"factor", scale.factor}};
    if (auto created = create_file(path, json::to_string(content) + "\n"); !created)
        return tl::unexpected(created.error());
    auto const clock = read_clock(run_folder);
    if (!clock) return tl::unexpected(clock.error());
    if (!*clock)
        return fail(ExitCode::io, "cannot read " + path.string(),
                    "another process has removed it since it was written", "run the command again");
    return **clock;
}

}  // namespace curtail
