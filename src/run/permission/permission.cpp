// SPDX-License-Identifier: Apache-2.0
#include "run/permission/permission.hpp"

#include <cmath>

#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/site_file.hpp"

namespace curtail::permission {
namespace {

constexpr std::int64_t format = 1;
constexpr double longest_lifetime_s = 1e9;

Time read_time(json::ObjectReader& r, std::string const& key)
{
    auto const time = parse_time(r.text(key));
    r.require(time.has_value(), key, "must be a time");
    return time.value_or(Time{});
}

Permission parse(json::ObjectReader& r)
{
    Permission permission;
    r.require(r.integer("format") == format, "format", "must be " + std::to_string(format));
    permission.run = {r.text("run")};
    permission.site = {r.text("site")};
    permission.serial = r.integer("serial");
    r.require(permission.serial >= 0 && permission.serial <= largest_serial, "serial",
              "must be 0 to 2^53");
    permission.issued = read_time(r, "issued");
    double const seconds = r.number("lifetime_s");
    bool const good = seconds >= 0 && seconds <= longest_lifetime_s;
    r.require(good, "lifetime_s", "must be 0 to 1e9");
    permission.lifetime = Millis{good ? std::llround(1000 * seconds) : 0};
    permission.until = read_time(r, "until");
    permission.why = r.text("why");
    return permission;
}

tl::unexpected<Error> unusable(std::filesystem::path const& file, std::string why)
{
    std::error_code error;
    bool const is_folder = std::filesystem::is_directory(file, error);
    return fail(ExitCode::temporary, "cannot use the permission " + file.string(), std::move(why),
                is_folder ? "remove the folder: the site's poller cannot replace it"
                          : "the site's poller replaces the file at its next poll");
}

}  // namespace

bool is_plausible(std::int64_t serial, Time now)
{
    constexpr Millis year{std::chrono::years{1}};
    return serial <= to_unix_ms(now + year);
}

std::filesystem::path permission_file(std::filesystem::path const& site_folder)
{
    return site_folder / "permission.json";
}

Result<void> write_permission(std::filesystem::path const& site_folder,
                              Permission const& permission)
{
    json::Object const content{{"format", format},
                               {"run", permission.run.value},
                               {"site", permission.site.value},
                               {"serial", permission.serial},
                               {"issued", format_time(permission.issued)},
                               {"lifetime_s", FractionalSeconds(permission.lifetime).count()},
                               {"until", format_time(permission.until)},
                               {"why", permission.why}};
    auto const text = json::to_string(content) + "\n";
    auto const file = permission_file(site_folder);
    if (permission.is_withdrawn()) return write_site_file_on_full_disk(file, text);
    auto written = write_site_file(file, text);
    // For the end of this permission, and for the first pause of a person.
    for (auto const& one : {file, hold_file(site_folder)}) reserve_space(one);
    return written;
}

Result<std::optional<Permission>> read_permission(std::filesystem::path const& site_folder,
                                                  RunId const& run, SiteId const& site)
{
    auto const file = permission_file(site_folder);
    auto permission = json::read_record(file, parse);
    if (!permission) return unusable(file, permission.error().why);
    if (*permission && ((*permission)->run != run || (*permission)->site != site))
        return unusable(file, "it belongs to site " + shell_quoted((*permission)->site.value) +
                                  " of run " + shell_quoted((*permission)->run.value));
    return permission;
}

}  // namespace curtail::permission
