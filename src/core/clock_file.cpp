#include "core/clock_file.hpp"

#include "core/files.hpp"
#include "core/json.hpp"

namespace curtail {

std::filesystem::path clock_file(std::filesystem::path const& run_folder) { return run_folder / "clock.json"; }

Result<std::optional<TimeScale>> read_clock(std::filesystem::path const& run_folder)
{
    auto const path = clock_file(run_folder);
    auto const text = read_file_if_there(path, json::record_limits.bytes);
    if (!text) return tl::unexpected(text.error());
    if (!*text) return std::optional<TimeScale>{};
    auto const value = json::parse(**text, path.string(), json::Dialect::strict, json::record_limits);
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

}  // namespace curtail
