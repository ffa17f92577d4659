// SPDX-License-Identifier: Apache-2.0
#include "run/permission/hold.hpp"

#include <unistd.h>

#include <array>

#include "base/core/json.hpp"
#include "base/core/text.hpp"
#include "base/core/users.hpp"
#include "run/permission/permission.hpp"
#include "run/permission/site_file.hpp"

namespace curtail::permission {
namespace {

constexpr std::int64_t format = 1;

Hold parse(json::ObjectReader& r)
{
    Hold hold;
    r.require(r.integer("format") == format, "format", "must be " + std::to_string(format));
    hold.run = {r.text("run")};
    hold.site = {r.text("site")};
    hold.serial = r.integer("serial");
    r.require(hold.serial >= 0 && hold.serial <= largest_serial, "serial", "must be 0 to 2^53");
    hold.held = r.boolean("held");
    hold.reason = r.text("reason");
    auto const since = parse_time(r.text("since"));
    r.require(since.has_value(), "since", "must be a time");
    hold.since = since.value_or(Time{});
    hold.by = r.text("by");
    return hold;
}

tl::unexpected<Error> unusable(std::filesystem::path const& file, std::string why)
{
    std::error_code error;
    bool const is_folder = std::filesystem::is_directory(file, error);
    return fail(
        ExitCode::data, "cannot use the hold " + file.string(), std::move(why),
        std::string(is_folder ? "remove the folder, and " : "") +
            "replace it with `curtail-poll RUN --pause SITE --reason TEXT` or `curtail-poll "
            "RUN --resume SITE`");
}

}  // namespace

std::string to_text(Hold const& hold, bool with_time)
{
    auto const when = with_time ? " at " + format_time(hold.since) : std::string();
    return "paused by " + shell_quoted(hold.by) + when + ": " + shell_quoted(hold.reason);
}

std::string this_person()
{
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
    return printable(own_user_name() + "@" + host.data());
}

std::filesystem::path hold_file(std::filesystem::path const& site_folder)
{
    return site_folder / "hold.json";
}

Result<void> write_hold(std::filesystem::path const& site_folder, Hold const& hold)
{
    json::Object const content{{"format", format},
                               {"run", hold.run.value},
                               {"site", hold.site.value},
                               {"serial", hold.serial},
                               {"held", hold.held},
                               {"reason", hold.reason},
                               {"since", format_time(hold.since)},
                               {"by", hold.by}};
    return write_site_file_on_full_disk(hold_file(site_folder), json::to_string(content) + "\n");
}

Result<std::optional<Hold>> read_hold(std::filesystem::path const& site_folder, RunId const& run,
                                      SiteId const& site)
{
    auto const file = hold_file(site_folder);
    auto hold = json::read_record(file, parse);
    if (!hold) return unusable(file, hold.error().why);
    if (*hold && ((*hold)->run != run || (*hold)->site != site))
        return unusable(file, "it belongs to site " + shell_quoted((*hold)->site.value) +
                                  " of run " + shell_quoted((*hold)->run.value));
    return hold;
}

}  // namespace curtail::permission
