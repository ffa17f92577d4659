// SPDX-License-Identifier: Apache-2.0
#include "run/permission/watch.hpp"

#include "base/core/text.hpp"

namespace curtail::permission {
namespace {

// Clocks of a site's machines may differ this much.
constexpr Seconds clock_tolerance{60};

// A withdrawal counts whatever the clocks are. The text does not change with the time, so that a
// job reports each file once.
std::optional<Error> future_error(Permission const& permission, Time now)
{
    if (permission.is_withdrawn() && is_plausible(permission.serial, now)) return std::nullopt;
    if (!is_plausible(permission.serial, now))
        return Error{ExitCode::temporary,
                     "cannot use the permission of site " + permission.site.value,
                     "no poller has written it: its serial is " + std::to_string(permission.serial),
                     "the site's poller replaces the file at its next poll"};
    if (!is_from_the_future(permission, now)) return std::nullopt;
    return Error{ExitCode::temporary, "cannot use the permission of site " + permission.site.value,
                 "it was issued at " + format_time(permission.issued) +
                     ", which is in the future on this machine",
                 "check the clocks of this machine and of the poller's machine"};
}

std::string end_text(Permission const& permission)
{
    if (permission.is_withdrawn())
        return "the poller ended the permission: " + shell_quoted(permission.why);
    return "no permission after that of " + format_time(permission.issued) +
           ", which has ended; is the poller running?";
}

tl::unexpected<Error> refuse(std::string why)
{
    return fail(ExitCode::temporary, "this job may not train", std::move(why),
                "start the poller, or pass --without-poller to train in spite of this");
}

}  // namespace

char const* to_text(Requirement requirement)
{
    static constexpr char const* words[] = {"always", "if-served", "never"};
    return words[static_cast<int>(requirement)];
}

std::optional<Requirement> parse_requirement(std::string_view text)
{
    for (auto const requirement : {Requirement::always, Requirement::if_served, Requirement::never})
        if (text == to_text(requirement)) return requirement;
    return std::nullopt;
}

bool is_from_the_future(Permission const& permission, Time now)
{
    return permission.issued > now + clock_tolerance;
}

Result<void> check_start(Requirement requirement, Reading const& reading, Time now)
{
    if (requirement == Requirement::never) return {};
    if (!reading) return tl::unexpected(reading.error());
    if (!*reading) {
        if (requirement == Requirement::if_served) return {};
        return refuse("no poller has permitted it");
    }
    auto const& permission = **reading;
    if (auto const error = future_error(permission, now)) return tl::unexpected(*error);
    if (now < permission.until && !permission.is_withdrawn()) return {};
    return refuse(end_text(permission));
}

std::optional<Error> JobWatch::see(Reading const& reading, MonoTime now, Time real_now)
{
    read_ = now;
    std::optional<Error> problem;
    if (!reading) problem = reading.error();
    else if (*reading) problem = future_error(**reading, real_now);
    bool const is_new = problem && problem_ != problem;
    if (!problem && *reading && (!last_ || (*reading)->serial > last_->serial)) {
        last_ = **reading;
        first_seen_ = now;
    }
    problem_ = std::move(problem);
    return is_new ? problem_ : std::nullopt;
}

std::optional<PermissionEnd> JobWatch::end(MonoTime now, Time real_now) const
{
    if (requirement_ == Requirement::never) return std::nullopt;
    if (!last_) {
        if (problem_) return PermissionEnd{0, problem_->message()};
        if (requirement_ == Requirement::if_served) return std::nullopt;
        return PermissionEnd{0, "no poller has permitted it"};
    }
    if (now - first_seen_ < last_->lifetime && real_now < last_->until) return std::nullopt;
    return PermissionEnd{last_->serial, end_text(*last_)};
}

}  // namespace curtail::permission
